using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>A request that a scripted server has seen.</summary>
    public sealed class Seen
    {
        public long At;
        public ApiRequest Request;
        public string Text;
        public Dictionary<string, object> Body;

        public Uri Uri
        {
            get { return new Uri(Request.Url); }
        }

        public string Header(string name)
        {
            string value;
            return Request.Headers.TryGetValue(name, out value) ? value : "";
        }

        public Dictionary<string, object> Query
        {
            get
            {
                var query = new Dictionary<string, object>();
                var at = Request.Url.IndexOf('?');
                if (at < 0) return query;
                foreach (var part in Request.Url.Substring(at + 1).Split('&'))
                {
                    var pair = part.Split('=');
                    query.Add(pair[0], Uri.UnescapeDataString(pair[1]));
                }
                return query;
            }
        }
    }

    /// <summary>Answers requests with the given responses, in order, and records them.</summary>
    public sealed class Script : IApiTransport
    {
        public readonly List<Seen> Seen = new List<Seen>();
        private readonly List<Vector> responses;
        private readonly Virtual time;

        public Script(Virtual time, IEnumerable<object> responses)
        {
            this.time = time;
            this.responses = responses.Select(r => new Vector(r)).ToList();
        }

        public async Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
        {
            await Task.Yield();
            var text = request.Body == null ? "" : Encoding.UTF8.GetString(request.Body);
            var seen = new Seen { At = time.Elapsed, Request = request, Text = text };
            if (text != "") seen.Body = (Dictionary<string, object>)Json.Parse(text);
            Seen.Add(seen);
            if (Seen.Count > responses.Count) throw new TestFailure("one request more than scripted");
            var answer = responses[Seen.Count - 1];
            answer.Only("lost", "status", "headers", "body", "text");
            if (answer.True("lost")) throw new IOException("connection lost");
            var body = answer.Text("text");
            if (answer.Has("body"))
            {
                var id = seen.Body != null && seen.Body.ContainsKey("event_id") ? (string)seen.Body["event_id"] : "";
                body = Json.Write(answer.Fields["body"]).Replace("$event_id", id);
            }
            return new Reply(answer, Encoding.UTF8.GetBytes(body));
        }

        private sealed class Reply : IApiResponse
        {
            private readonly Vector answer;
            private readonly MemoryStream body;

            public Reply(Vector answer, byte[] body)
            {
                this.answer = answer;
                this.body = new MemoryStream(body);
            }

            public int Status
            {
                get { return answer.Has("status") ? (int)answer.Long("status") : 200; }
            }

            public string Header(string name)
            {
                return answer.Has("headers") ? answer.Get("headers").Text(name) : "";
            }

            public Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
            {
                return Task.FromResult(body.Read(buffer, offset, count));
            }

            public void Dispose()
            {
                body.Dispose();
            }
        }
    }
}
