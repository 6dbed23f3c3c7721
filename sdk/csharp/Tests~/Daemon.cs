using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Scoreboard.Client.Tests
{
    /// <summary>A scoreboardd with its backends.</summary>
    public sealed class Daemon
    {
        public readonly string Folder = Path.Combine(Path.GetTempPath(), "scoreboard-csharp-" + Guid.NewGuid());
        public readonly int Port = FreePort();
        private readonly int opsPort = FreePort();
        private readonly string[] flags;
        private readonly StringBuilder log = new StringBuilder();
        private Process process;

        public Daemon(params string[] flags)
        {
            this.flags = flags;
            Directory.CreateDirectory(Folder);
            Start();
        }

        public string Url
        {
            get { return "http://127.0.0.1:" + Port; }
        }

        public Dictionary<string, string> Environment
        {
            get
            {
                return File.ReadAllLines(Path.Combine(Folder, "sbctl.env")).Where(l => l.Contains("="))
                    .ToDictionary(l => l.Split('=')[0], l => l.Substring(l.IndexOf('=') + 1));
            }
        }

        /// <summary>Waits for a condition, for 60 s at most.</summary>
        public static void Until(string what, Func<bool> done)
        {
            for (var watch = Stopwatch.StartNew(); !done(); Thread.Sleep(20))
            {
                if (watch.ElapsedMilliseconds > 60000) throw new TestFailure("timed out waiting for " + what);
            }
        }

        /// <summary>Starts the process, again after Kill.</summary>
        public void Start()
        {
            var arguments = "dev --data \"" + Folder + "\" --addr 127.0.0.1:" + Port + " --ops-addr 127.0.0.1:" + opsPort + " "
                + string.Join(" ", flags);
            process = Process.Start(new ProcessStartInfo(Path.Combine(Vector.Root, "bin/scoreboardd"), arguments)
            {
                UseShellExecute = false, RedirectStandardOutput = true, RedirectStandardError = true,
            });
            process.OutputDataReceived += Log;
            process.ErrorDataReceived += Log;
            process.BeginOutputReadLine();
            process.BeginErrorReadLine();
            Until("the daemon", () =>
            {
                if (process.HasExited) throw new TestFailure("scoreboardd ended:\n" + log);
                return IsReady();
            });
        }

        public void Kill()
        {
            process.Kill(); // as kill -9 does
            process.WaitForExit();
        }

        public void Stop()
        {
            if (!process.HasExited)
            {
                kill(process.Id, 15);
                process.WaitForExit();
            }
            Directory.Delete(Folder, true);
        }

        /// <summary>The options of a game server.</summary>
        public Options Options(string server = null)
        {
            var env = Environment;
            return new Options
            {
                Server = server ?? Url, Token = env["SBCTL_TOKEN"], KeyId = env["SBCTL_KEY_ID"],
                KeySecret = env["SBCTL_KEY_SECRET"],
            };
        }

        /// <summary>A token of a user.</summary>
        public string Token(string user, params string[] more)
        {
            return Sbctl(new[] { "token", "mint", "--user", user }.Concat(more).ToArray()).Trim();
        }

        public string Sbctl(params string[] arguments)
        {
            return Run(Path.Combine(Vector.Root, "bin/sbctl"), string.Join(" ", arguments));
        }

        /// <summary>Runs a program with the SBCTL_ variables.</summary>
        public string Run(string program, string arguments)
        {
            using (var child = Begin(program, arguments))
            {
                var errors = child.StandardError.ReadToEndAsync();
                var output = child.StandardOutput.ReadToEnd();
                child.WaitForExit();
                if (child.ExitCode != 0) throw new TestFailure(program + " " + arguments + ": " + output + errors.Result);
                return output;
            }
        }

        public Process Begin(string program, string arguments)
        {
            var start = new ProcessStartInfo(program, arguments)
            {
                UseShellExecute = false, RedirectStandardOutput = true, RedirectStandardError = true,
                WorkingDirectory = Folder,
            };
            foreach (var each in Environment) start.EnvironmentVariables[each.Key] = each.Value;
            return Process.Start(start);
        }

        private static int FreePort()
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            var port = ((IPEndPoint)listener.LocalEndpoint).Port;
            listener.Stop();
            return port;
        }

        private bool IsReady()
        {
            try
            {
                var request = WebRequest.CreateHttp("http://127.0.0.1:" + opsPort + "/readyz");
                using (var response = (HttpWebResponse)request.GetResponse()) return response.StatusCode == HttpStatusCode.OK;
            }
            catch (WebException)
            {
                return false;
            }
        }

        private void Log(object sender, DataReceivedEventArgs e)
        {
            lock (log) log.AppendLine(e.Data);
        }

        [DllImport("libc")]
        private static extern int kill(int process, int signal);
    }
}
