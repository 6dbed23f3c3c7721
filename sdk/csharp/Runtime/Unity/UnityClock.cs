using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Scoreboard.Client;
using UnityEngine;

namespace Scoreboard.Unity
{
    /// <summary>
    /// The clock of the main thread: waits end in Update, because WebGL has no timers of .NET. It does not heed
    /// Time.timeScale. While the game is suspended, waits are, too.
    /// </summary>
    [AddComponentMenu("")]
    public sealed class UnityClock : MonoBehaviour, IClock
    {
        private static UnityClock instance;
        private readonly List<Wait> waits = new List<Wait>();
        private int thread;

        /// <summary>The clock of the game. It is made on first use, on the main thread.</summary>
        public static UnityClock Instance
        {
            get
            {
                if (instance != null) return instance;
                var holder = new GameObject("Scoreboard clock") { hideFlags = HideFlags.HideAndDontSave };
                DontDestroyOnLoad(holder);
                instance = holder.AddComponent<UnityClock>();
                instance.thread = Thread.CurrentThread.ManagedThreadId;
                return instance;
            }
        }

        /// <inheritdoc/>
        public DateTimeOffset Now
        {
            get { return DateTimeOffset.UtcNow; }
        }

        /// <inheritdoc/>
        public Task Delay(TimeSpan time, CancellationToken cancel)
        {
            CheckThread();
            var wait = new Wait { End = Time.realtimeSinceStartupAsDouble + time.TotalSeconds, Cancel = cancel };
            if (cancel.IsCancellationRequested) wait.Done.TrySetCanceled();
            else waits.Add(wait);
            return wait.Done.Task;
        }

        /// <summary>Fails on another thread than the main one, to which Unity's objects belong.</summary>
        internal void CheckThread()
        {
            if (Thread.CurrentThread.ManagedThreadId == thread) return;
            throw new InvalidOperationException("call the client of scoreboard on Unity's main thread");
        }

        private void Update()
        {
            var now = Time.realtimeSinceStartupAsDouble;
            for (var n = waits.Count - 1; n >= 0; n--)
            {
                // What continues here may add waits, at the end, or end others, one step later.
                var wait = waits[n];
                if (!wait.Cancel.IsCancellationRequested && wait.End > now) continue;
                waits.RemoveAt(n);
                if (wait.Cancel.IsCancellationRequested) wait.Done.TrySetCanceled();
                else wait.Done.TrySetResult(true);
            }
        }

        private sealed class Wait
        {
            internal double End;
            internal CancellationToken Cancel;
            internal readonly TaskCompletionSource<bool> Done = new TaskCompletionSource<bool>();
        }
    }
}
