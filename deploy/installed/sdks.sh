# Each installed SDK submits an increment again, which changes nothing, and reads the board, whose first user is ada.
export SBCTL_SERVER
python3 - <<'END'
from scoreboard import Scoreboard

sb = Scoreboard()
receipt = sb.submit(user_id="ada", delta=25, event_id="match-8841")
first = sb.top(board="global", limit=1).entries[0]
assert receipt.replayed and (first.user_id, first.score) == ("ada", 25), (receipt, first)
print("Python: ada has 25")
END
cat >/opt/node/tour.mjs <<'END'
import { Scoreboard } from "@scoreboard/client";

const sb = new Scoreboard();
const receipt = await sb.submit({ userId: "ada", delta: 25, eventId: "match-8841" });
const [first] = (await sb.top({ board: "global", limit: 1 })).entries;
if (!receipt.replayed || first.userId !== "ada" || first.score !== 25) throw new Error(JSON.stringify([receipt, first]));
console.log("TypeScript: ada has 25");
END
node /opt/node/tour.mjs
cat >/opt/csharp/Tour.cs <<'END'
using System;
using Scoreboard.Client;

static class Tour
{
    static int Main()
    {
        var sb = new ScoreboardClient();
        var receipt = sb.SubmitAsync(new Increment { UserId = "ada", Delta = 25, EventId = "match-8841" }).Result;
        var first = sb.TopAsync(new TopQuery { Board = "global", Limit = 1 }).Result.Entries[0];
        if (!receipt.Replayed || first.UserId != "ada" || first.Score != 25) return 1;
        Console.WriteLine("C#: ada has 25");
        return 0;
    }
}
END
cp /opt/csharp/lib/netstandard2.0/Scoreboard.Client.dll /opt/csharp/
mcs -nologo -out:/opt/csharp/Tour.exe -r:/opt/csharp/Scoreboard.Client.dll /opt/csharp/Tour.cs
mono /opt/csharp/Tour.exe
