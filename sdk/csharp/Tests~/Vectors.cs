using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Scoreboard.Client.Tests
{
    /// <summary>A JSON object of a file of sdk/conformance.</summary>
    public sealed class Vector
    {
        public readonly Dictionary<string, object> Fields;

        public Vector(object fields)
        {
            Fields = (Dictionary<string, object>)fields;
        }

        public static string Root
        {
            get { return Environment.GetEnvironmentVariable("SCOREBOARD_ROOT"); }
        }

        public static Vector Load(string name)
        {
            return new Vector(Json.Parse(File.ReadAllText(Path.Combine(Root, "sdk/conformance", name))));
        }

        /// <summary>Runs a check for each case, and names the one that fails.</summary>
        public static void Each(string file, string list, Action<Vector> check)
        {
            var cases = Load(file).List(list);
            Check.That(cases.Count > 0, "no cases");
            foreach (var v in cases.Select(c => new Vector(c)))
            {
                try
                {
                    check(v);
                }
                catch (Exception e)
                {
                    throw new TestFailure(file + ", " + v.Text("name") + ": " + e);
                }
            }
        }

        public bool Has(string name)
        {
            return Fields.ContainsKey(name);
        }

        public string Text(string name)
        {
            return Has(name) ? (string)Fields[name] : "";
        }

        public long Long(string name)
        {
            return Has(name) ? (long)Fields[name] : 0;
        }

        public bool True(string name)
        {
            return Has(name) && (bool)Fields[name];
        }

        public Vector Get(string name)
        {
            return new Vector(Fields[name]);
        }

        public List<object> List(string name)
        {
            return Has(name) ? (List<object>)Fields[name] : new List<object>();
        }

        public IReadOnlyList<string> Texts(string name)
        {
            return List(name).Cast<string>().ToList();
        }

        /// <summary>Fails if there is a field that the runner does not know, so that none goes unchecked.</summary>
        public void Only(params string[] known)
        {
            foreach (var name in Fields.Keys) Check.That(known.Contains(name), "unknown field " + name);
        }
    }
}
