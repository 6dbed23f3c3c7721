using System;
using System.Collections.Generic;
using System.IO;

namespace Scoreboard.Client
{
    /// <summary>
    /// Locks a file by another beside it, against this process and others. The system ends the lock with the process.
    /// </summary>
    internal sealed class FileLock : IDisposable
    {
        private static readonly HashSet<string> Held = new HashSet<string>(); // the system's locks are of a process

        private readonly string path;
        private readonly FileStream file;

        internal FileLock(string path)
        {
            this.path = path;
            lock (Held)
            {
                if (!Held.Add(path)) throw new IOException(path + " is already open");
            }
            try
            {
                file = new FileStream(path + ".lock", FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
                file.Lock(0, 1);
            }
            catch (PlatformNotSupportedException)
            {
                // Where no file can be locked (macOS, WebGL), a game is one process at a time.
            }
            catch (Exception e)
            {
                Dispose();
                throw new IOException(path + " is in use by another process", e);
            }
        }

        public void Dispose()
        {
            file?.Dispose();
            lock (Held) Held.Remove(path);
        }
    }
}
