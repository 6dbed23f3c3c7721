using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Scoreboard.Client.Tests")]
