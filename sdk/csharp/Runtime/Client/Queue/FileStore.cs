using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>
    /// Keeps a queue in a file. An increment is on disk when AddAsync ends. One process at a time can use the file. Writes
    /// are short, so they run on the calling thread.
    /// </summary>
    public sealed class FileStore : IQueueStore, IDisposable
    {
        private const int MinLines = 200; // before the file is rewritten
        private static readonly Task Done = Task.FromResult(true);
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        private readonly string path;
        private readonly FileLock held;
        private readonly SortedDictionary<long, QueuedIncrement> queued = new SortedDictionary<long, QueuedIncrement>();
        private readonly Dictionary<string, QueuedIncrement> byEvent = new Dictionary<string, QueuedIncrement>();
        private FileStream file;
        private long lines; // in the file
        private long nextKey = 1;
        private Exception broken;

        /// <summary>Reads the file, or creates it.</summary>
        public FileStore(string path)
        {
            this.path = Path.GetFullPath(path);
            held = new FileLock(this.path);
            try
            {
                Load();
                Compact();
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        /// <inheritdoc/>
        public int Count
        {
            get { return queued.Count; }
        }

        /// <inheritdoc/>
        public QueuedIncrement Find(string userId, string eventId)
        {
            QueuedIncrement found;
            return byEvent.TryGetValue(IdOf(userId, eventId), out found) ? found : null;
        }

        /// <inheritdoc/>
        public Task AddAsync(Increment increment)
        {
            var added = new QueuedIncrement { Key = nextKey++, Increment = increment };
            Append(LineOf(added));
            Insert(added);
            return Done;
        }

        /// <inheritdoc/>
        public IReadOnlyList<QueuedIncrement> First(int limit)
        {
            return queued.Values.Take(limit).ToList();
        }

        /// <inheritdoc/>
        public Task SentAsync(IReadOnlyList<QueuedIncrement> increments, DateTimeOffset now)
        {
            Append(KeysLine("sent", increments, now.ToUnixTimeSeconds()));
            foreach (var q in increments) q.FirstSent = now;
            return Done;
        }

        /// <inheritdoc/>
        public Task RemoveAsync(IReadOnlyList<QueuedIncrement> increments)
        {
            Append(KeysLine("removed", increments, null));
            foreach (var q in increments) Delete(q.Key);
            if (lines > MinLines + 2 * queued.Count) Compact();
            return Done;
        }

        /// <summary>Closes the file, for another process or store.</summary>
        public void Dispose()
        {
            file?.Dispose();
            held.Dispose();
        }

        // A user id contains no space.
        private static string IdOf(string userId, string eventId)
        {
            return userId + " " + eventId;
        }

        private void Insert(QueuedIncrement q)
        {
            queued[q.Key] = q;
            byEvent[IdOf(q.Increment.UserId, q.Increment.EventId)] = q;
            nextKey = Math.Max(nextKey, q.Key + 1);
        }

        private void Delete(long key)
        {
            QueuedIncrement q;
            if (!queued.TryGetValue(key, out q)) return;
            queued.Remove(key);
            byEvent.Remove(IdOf(q.Increment.UserId, q.Increment.EventId));
        }

        private void Append(string line)
        {
            // After a failed write the file may end in half a line, so nothing may follow it.
            if (broken != null) throw Failed(broken);
            try
            {
                var bytes = Utf8.GetBytes(line);
                file.Write(bytes, 0, bytes.Length);
                file.Flush(true);
                lines++;
            }
            catch (Exception e) when (e is IOException || e is UnauthorizedAccessException || e is ObjectDisposedException)
            {
                broken = e;
                throw Failed(e);
            }
        }

        private ScoreboardException Failed(Exception cause)
        {
            return Errors.Wrap("write the queue " + path, cause);
        }

        private void Load()
        {
            var unfinished = path + ".new";
            if (!File.Exists(path) && File.Exists(unfinished)) File.Move(unfinished, path);
            if (!File.Exists(path)) return;
            var text = File.ReadAllBytes(path);
            var number = 0;
            for (var start = 0; start < text.Length;)
            {
                var end = Array.IndexOf(text, (byte)'\n', start);
                if (end < 0) return; // half a line of an AddAsync that never ended
                number++;
                try
                {
                    Apply(text, start, end - start);
                }
                catch (Exception e) when (e is FormatException || e is ArgumentException || e is OverflowException)
                {
                    throw new InvalidDataException("line " + number + " of " + path + " is damaged", e);
                }
                start = end + 1;
            }
        }

        /// <summary>Applies a line: an increment that was added, or keys that were sent or removed.</summary>
        private void Apply(byte[] text, int start, int length)
        {
            var line = new byte[length];
            Buffer.BlockCopy(text, start, line, 0, length);
            var r = new JsonReader(line, length);
            long key = 0, at = 0;
            Increment increment = null;
            IReadOnlyList<long> sent = null, removed = null;
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("key")) key = r.Long();
                else if (r.Is("increment")) increment = QueuedText.Read(r);
                else if (r.Is("at")) at = r.Long();
                else if (r.Is("sent")) sent = r.List(ReadKey);
                else if (r.Is("removed")) removed = r.List(ReadKey);
                else r.Skip();
            }
            r.End();
            var time = at == 0 ? (DateTimeOffset?)null : DateTimeOffset.FromUnixTimeSeconds(at);
            if (increment != null) Insert(new QueuedIncrement { Key = key, Increment = increment, FirstSent = time });
            foreach (var each in sent ?? new long[0])
            {
                if (queued.ContainsKey(each)) queued[each].FirstSent = time;
            }
            foreach (var each in removed ?? new long[0]) Delete(each);
        }

        private static long ReadKey(JsonReader r)
        {
            return r.Long();
        }

        private static string LineOf(QueuedIncrement q)
        {
            var w = new JsonWriter().Open('{').Name("key").Value(q.Key);
            w.Field("at", q.FirstSent == null ? (long?)null : q.FirstSent.Value.ToUnixTimeSeconds()).Name("increment");
            QueuedText.Write(w, q.Increment);
            return w.Close('}') + "\n";
        }

        private static string KeysLine(string what, IReadOnlyList<QueuedIncrement> increments, long? at)
        {
            var w = new JsonWriter().Open('{').Field("at", at).Name(what).Open('[');
            foreach (var q in increments) w.Value(q.Key);
            return w.Close(']').Close('}') + "\n";
        }

        /// <summary>Replaces the file by one with only what waits.</summary>
        private void Compact()
        {
            var next = path + ".new";
            using (var copy = new FileStream(next, FileMode.Create, FileAccess.Write, FileShare.Read))
            {
                var bytes = Utf8.GetBytes(string.Concat(queued.Values.Select(LineOf)));
                copy.Write(bytes, 0, bytes.Length);
                copy.Flush(true);
            }
            file?.Dispose();
            file = null;
            // A crash between these two leaves the new file alone, which Load takes.
            File.Delete(path);
            File.Move(next, path);
            file = new FileStream(path, FileMode.Append, FileAccess.Write, FileShare.Read);
            lines = queued.Count;
        }
    }
}
