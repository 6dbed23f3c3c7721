using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    internal struct Page<T>
    {
        internal IReadOnlyList<T> Entries;
        internal string NextCursor;
    }

    /// <summary>
    /// Reads rows page by page: while (await rows.MoveNextAsync()) use(rows.Current). From C# 8 on, await foreach reads it.
    /// </summary>
    public sealed class Pages<T>
    {
        private static readonly Task<bool> True = Task.FromResult(true);

        private readonly Func<string, Task<Page<T>>> read;
        private readonly bool stay;
        private Page<T> page;
        private int at = -1;
        private bool begun;

        internal Pages(string cursor, bool stay, Func<string, Task<Page<T>>> read)
        {
            this.read = read;
            this.stay = stay;
            page = new Page<T> { Entries = new T[0], NextCursor = cursor ?? "" };
        }

        /// <summary>The row.</summary>
        public T Current { get; private set; }

        /// <summary>Reads the next row; false after the last.</summary>
        public Task<bool> MoveNextAsync()
        {
            if (at + 1 >= page.Entries.Count) return NextPageAsync();
            Current = page.Entries[++at];
            return True;
        }

        /// <summary>For await foreach.</summary>
        public Pages<T> GetAsyncEnumerator()
        {
            return this;
        }

        private async Task<bool> NextPageAsync()
        {
            while (!begun || page.NextCursor != "")
            {
                page = await read(page.NextCursor).ConfigureAwait(stay);
                begun = true;
                at = 0;
                if (page.Entries.Count == 0) continue;
                Current = page.Entries[0];
                return true;
            }
            return false;
        }
    }
}
