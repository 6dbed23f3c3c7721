// A small stand-in for the parts of Unity that the package uses: enough to compile it, to run its clock and its transport
// on a main loop, and nothing to draw. Unity itself behaves differently in ways that these tests cannot see.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

namespace UnityEngine
{
    public enum HideFlags
    {
        HideAndDontSave = 61,
    }

    public class Object
    {
        public HideFlags hideFlags { get; set; }

        public static void DontDestroyOnLoad(Object target)
        {
        }
    }

    public class Component : Object
    {
        public GameObject gameObject { get; internal set; }

        public Transform transform
        {
            get { return gameObject.transform; }
        }

        public T GetComponent<T>()
        {
            return gameObject.Components.OfType<T>().First();
        }
    }

    public class Behaviour : Component
    {
    }

    public class MonoBehaviour : Behaviour
    {
    }

    public class Transform : Component
    {
        public void SetParent(Transform parent, bool worldPositionStays)
        {
        }
    }

    public sealed class RectTransform : Transform
    {
    }

    public sealed class GameObject : Object
    {
        public readonly List<Component> Components = new List<Component>();

        public GameObject(string name, params Type[] components)
        {
            transform = new RectTransform { gameObject = this };
        }

        public Transform transform { get; }

        public T AddComponent<T>()
            where T : Component, new()
        {
            var component = new T { gameObject = this };
            Components.Add(component);
            Engine.Behaviours.Add(component);
            return component;
        }
    }

    public static class Time
    {
        private static readonly System.Diagnostics.Stopwatch Watch = System.Diagnostics.Stopwatch.StartNew();

        public static double realtimeSinceStartupAsDouble
        {
            get { return Watch.Elapsed.TotalSeconds; }
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class AddComponentMenu : Attribute
    {
        public AddComponentMenu(string menuName)
        {
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class RequireComponent : Attribute
    {
        public RequireComponent(Type requiredComponent)
        {
        }
    }

    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute
    {
    }

    public sealed class Font : Object
    {
    }

    public struct Color
    {
        public static readonly Color yellow = new Color();
        public static readonly Color white = new Color();
    }

    /// <summary>The main loop, for tests.</summary>
    public sealed class Engine : SynchronizationContext
    {
        public static readonly List<Component> Behaviours = new List<Component>();
        public static readonly Engine Main = new Engine();
        private readonly Queue<Action> posted = new Queue<Action>();

        public override void Post(SendOrPostCallback d, object state)
        {
            lock (posted) posted.Enqueue(() => d(state));
        }

        /// <summary>Runs frames until a task has ended.</summary>
        public static T Run<T>(Func<Task<T>> work)
        {
            var before = Current;
            SetSynchronizationContext(Main);
            try
            {
                var task = work();
                while (!task.IsCompleted)
                {
                    Main.Frame();
                    Thread.Sleep(1);
                }
                return task.GetAwaiter().GetResult();
            }
            finally
            {
                SetSynchronizationContext(before);
            }
        }

        private void Frame()
        {
            for (;;)
            {
                Action next;
                lock (posted)
                {
                    if (posted.Count == 0) break;
                    next = posted.Dequeue();
                }
                next();
            }
            foreach (var behaviour in Behaviours.ToArray())
            {
                var update = behaviour.GetType().GetMethod("Update", BindingFlags.Instance | BindingFlags.NonPublic);
                update?.Invoke(behaviour, null);
            }
        }
    }
}

namespace UnityEngine.Networking
{
    public abstract class DownloadHandlerScript
    {
        private readonly byte[] buffer;

        protected DownloadHandlerScript(byte[] preallocatedBuffer)
        {
            buffer = preallocatedBuffer;
        }

        internal byte[] Preallocated
        {
            get { return buffer; }
        }

        internal bool Receive(int count)
        {
            return ReceiveData(buffer, count);
        }

        protected virtual bool ReceiveData(byte[] data, int dataLength)
        {
            return true;
        }
    }

    public sealed class UploadHandlerRaw
    {
        internal readonly byte[] Data;

        public UploadHandlerRaw(byte[] data)
        {
            Data = data;
        }
    }

    public sealed class UnityWebRequestAsyncOperation
    {
        public event Action<UnityWebRequestAsyncOperation> completed;

        internal void Complete()
        {
            completed?.Invoke(this);
        }
    }

    public sealed class UnityWebRequest : IDisposable
    {
        private static readonly HttpClient Client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false })
        {
            Timeout = System.Threading.Timeout.InfiniteTimeSpan,
        };

        private readonly HttpRequestMessage message;
        private readonly CancellationTokenSource aborted = new CancellationTokenSource();
        private readonly Dictionary<string, string> contentHeaders = new Dictionary<string, string>();
        private HttpResponseMessage response;

        public UnityWebRequest(string url, string method)
        {
            message = new HttpRequestMessage(new HttpMethod(method), url);
        }

        public enum Result
        {
            InProgress,
            Success,
            ConnectionError,
            ProtocolError,
            DataProcessingError,
        }

        public DownloadHandlerScript downloadHandler { get; set; }

        public UploadHandlerRaw uploadHandler { get; set; }

        public int redirectLimit { get; set; } = 32;

        public long responseCode { get; private set; }

        public string error { get; private set; }

        public Result result { get; private set; }

        public void SetRequestHeader(string name, string value)
        {
            if (name == "Content-Type") contentHeaders[name] = value;
            else message.Headers.TryAddWithoutValidation(name, value);
        }

        public string GetResponseHeader(string name)
        {
            IEnumerable<string> values;
            if (response == null) return null;
            var found = response.Headers.TryGetValues(name, out values) || response.Content.Headers.TryGetValues(name, out values);
            return found ? values.First() : null;
        }

        public UnityWebRequestAsyncOperation SendWebRequest()
        {
            if (redirectLimit != 0) throw new NotSupportedException("the stub follows no redirects");
            var operation = new UnityWebRequestAsyncOperation();
            SendAsync(operation);
            return operation;
        }

        public void Abort()
        {
            aborted.Cancel();
        }

        public void Dispose()
        {
            aborted.Cancel();
            response?.Dispose();
        }

        // Runs on the main loop, for it was called there.
        private async void SendAsync(UnityWebRequestAsyncOperation operation)
        {
            await Task.Yield(); // Unity sends nothing before the caller is done
            try
            {
                if (uploadHandler != null)
                {
                    message.Content = new ByteArrayContent(uploadHandler.Data);
                    foreach (var header in contentHeaders) message.Content.Headers.TryAddWithoutValidation(header.Key, header.Value);
                }
                response = await Client.SendAsync(message, HttpCompletionOption.ResponseHeadersRead, aborted.Token);
                responseCode = (long)response.StatusCode;
                using (var body = await response.Content.ReadAsStreamAsync())
                using (aborted.Token.Register(body.Dispose))
                {
                    var buffer = downloadHandler.Preallocated;
                    for (int count; (count = await body.ReadAsync(buffer, 0, buffer.Length, aborted.Token)) > 0;)
                    {
                        if (!downloadHandler.Receive(count)) break;
                    }
                }
                result = responseCode < 400 ? Result.Success : Result.ProtocolError;
            }
            catch (Exception e)
            {
                result = Result.ConnectionError;
                error = e.Message;
            }
            operation.Complete();
        }
    }
}

namespace UnityEngine.UI
{
    public class Graphic : Behaviour
    {
        public Color color { get; set; }
    }

    public sealed class Text : Graphic
    {
        public string text { get; set; }

        public Font font { get; set; }

        public int fontSize { get; set; }
    }

    public sealed class VerticalLayoutGroup : Behaviour
    {
        public bool childForceExpandHeight { get; set; }
    }
}

namespace UnityEngine.UIElements
{
    public class VisualElement
    {
        public readonly List<VisualElement> Children = new List<VisualElement>();

        public string name { get; set; }

        public void Add(VisualElement child)
        {
            Children.Add(child);
        }

        public void AddToClassList(string className)
        {
        }

        public void EnableInClassList(string className, bool enable)
        {
        }

        public T Q<T>(string name)
            where T : VisualElement
        {
            return Children.OfType<T>().FirstOrDefault(c => c.name == name) ?? Children.Select(c => c.Q<T>(name)).FirstOrDefault(c => c != null);
        }
    }

    public sealed class Label : VisualElement
    {
        public string text { get; set; }
    }

    public sealed class UIDocument : MonoBehaviour
    {
        public VisualElement rootVisualElement { get; } = new VisualElement();
    }
}
