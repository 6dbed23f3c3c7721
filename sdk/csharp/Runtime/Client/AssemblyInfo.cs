using System.Reflection;
using System.Runtime.CompilerServices;

[assembly: AssemblyVersion("1.0.0")]
[assembly: InternalsVisibleTo("Scoreboard.Client.Tests")]
