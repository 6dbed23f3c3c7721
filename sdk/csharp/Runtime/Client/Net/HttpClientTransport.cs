using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Sends requests with an HttpClient.</summary>
    public sealed class HttpClientTransport : IApiTransport
    {
        private static readonly Lazy<HttpClient> Shared = new Lazy<HttpClient>(NewClient);
        private readonly HttpClient client;

        /// <summary>Uses one HttpClient for all of the program.</summary>
        public HttpClientTransport()
        {
        }

        /// <summary>
        /// Uses an HttpClient, such as one with a proxy or a client certificate. It must not follow redirects, and needs
        /// an infinite timeout, because event streams stay open.
        /// </summary>
        public HttpClientTransport(HttpClient client)
        {
            this.client = client;
        }

        /// <inheritdoc/>
        public async Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
        {
            var message = new HttpRequestMessage(new HttpMethod(request.Method), request.Url);
            if (request.Body != null) message.Content = new ByteArrayContent(request.Body);
            foreach (var header in request.Headers)
            {
                if (header.Key == "Content-Type") message.Content?.Headers.TryAddWithoutValidation(header.Key, header.Value);
                else message.Headers.TryAddWithoutValidation(header.Key, header.Value);
            }
            var response = await (client ?? Shared.Value)
                .SendAsync(message, HttpCompletionOption.ResponseHeadersRead, cancel).ConfigureAwait(false);
            try
            {
                return new Response(response, await response.Content.ReadAsStreamAsync().ConfigureAwait(false));
            }
            catch
            {
                response.Dispose();
                throw;
            }
        }

        private static HttpClient NewClient()
        {
            var handler = new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false, MaxConnectionsPerServer = 64 };
            return new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        }

        private sealed class Response : IApiResponse
        {
            private readonly HttpResponseMessage response;
            private readonly Stream body;

            internal Response(HttpResponseMessage response, Stream body)
            {
                this.response = response;
                this.body = body;
            }

            public int Status
            {
                get { return (int)response.StatusCode; }
            }

            public string Header(string name)
            {
                IEnumerable<string> values;
                var found = response.Headers.TryGetValues(name, out values)
                    || response.Content.Headers.TryGetValues(name, out values);
                return found ? values.FirstOrDefault() ?? "" : "";
            }

            public async Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
            {
                // Not every runtime ends a read that waits.
                using (cancel.Register(Dispose))
                {
                    return await body.ReadAsync(buffer, offset, count, cancel).ConfigureAwait(false);
                }
            }

            public void Dispose()
            {
                body.Dispose();
                response.Dispose();
            }
        }
    }
}
