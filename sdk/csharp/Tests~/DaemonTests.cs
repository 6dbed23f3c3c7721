namespace Scoreboard.Client.Tests
{
    public static class DaemonTests
    {
        public static void Stop()
        {
        }
    }

    public static class Children
    {
        public static int Run(string[] args)
        {
            return 1;
        }
    }
}
