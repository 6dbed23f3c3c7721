using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;

namespace Scoreboard.Client.Tests
{
    /// <summary>Marks a test: a static method without parameters, public.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TestAttribute : Attribute
    {
    }

    public sealed class TestFailure : Exception
    {
        public TestFailure(string message)
            : base(message)
        {
        }
    }

    /// <summary>Runs the tests whose names contain the argument; all without one.</summary>
    public static class Harness
    {
        public static int Main(string[] args)
        {
            if (args.Length > 1 && args[0] == "--child") return Children.Run(args);
            var tests = from type in Assembly.GetExecutingAssembly().GetTypes()
                        from method in type.GetMethods(BindingFlags.Public | BindingFlags.Static)
                        where method.GetCustomAttribute<TestAttribute>() != null
                        let name = type.Name + "." + method.Name
                        where args.Length == 0 || name.Contains(args[0])
                        orderby !type.FullName.Contains(".Client.") || type == typeof(DaemonTests), name
                        select new { name, method };
            int passed = 0, failed = 0;
            try
            {
                foreach (var test in tests)
                {
                    var watch = Stopwatch.StartNew();
                    try
                    {
                        ((Action)test.method.CreateDelegate(typeof(Action)))();
                        passed++;
                        Console.WriteLine("ok   " + test.name + " (" + watch.ElapsedMilliseconds + " ms)");
                    }
                    catch (Exception e)
                    {
                        failed++;
                        Console.WriteLine("FAIL " + test.name + ": " + e);
                    }
                }
            }
            finally
            {
                DaemonTests.Stop();
            }
            Console.WriteLine(passed + " tests passed, " + failed + " failed");
            return passed > 0 && failed == 0 ? 0 : 1;
        }
    }

    public static class Check
    {
        public static void That(bool holds, string message)
        {
            if (!holds) throw new TestFailure(message);
        }

        public static void Equal(object got, object want, string what)
        {
            string g = Show(got), w = Show(want);
            if (g != w) throw new TestFailure(what + ": got " + g + ", want " + w);
        }

        public static T Throws<T>(Action action)
            where T : Exception
        {
            try
            {
                action();
            }
            catch (T e)
            {
                return e;
            }
            throw new TestFailure("no " + typeof(T).Name);
        }

        private static string Show(object value)
        {
            return value is string ? "\"" + value + "\"" : Json.Write(value);
        }
    }
}
