using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>A request of the API.</summary>
    public sealed class ApiRequest
    {
        /// <summary>GET, POST, PUT or DELETE.</summary>
        public string Method { get; internal set; }

        /// <summary>The whole address, escaped. It is sent exactly so, because its path and query may be signed.</summary>
        public string Url { get; internal set; }

        /// <summary>The headers, with that of the content.</summary>
        public IReadOnlyDictionary<string, string> Headers { get; internal set; }

        /// <summary>The body; null for none.</summary>
        [MaybeNull]
        public byte[] Body { get; internal set; }
    }

    /// <summary>The response to a request. Its body is read in pieces.</summary>
    public interface IApiResponse : IDisposable
    {
        /// <summary>The HTTP status.</summary>
        int Status { get; }

        /// <summary>The value of a header; "" for none.</summary>
        string Header(string name);

        /// <summary>Reads a piece of the body into the buffer and returns its size; 0 at the end.</summary>
        Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel);
    }

    /// <summary>
    /// Sends requests. It does not follow redirects, because another server must not get the token, keeps no cookies, and
    /// uses no cache. It fails with any exception if there is no response.
    /// </summary>
    public interface IApiTransport
    {
        /// <summary>Sends a request, and returns as soon as the headers of the response are there.</summary>
        Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel);
    }
}
