"""A worker that submits the results of matches, and never loses or doubles one.

It reads one result a line from standard input, such as {"match": "8841", "user": "ada", "points": 25}, and puts each
into a queue on disk before it reads the next. A thread sends what waits, also what an earlier run left. While the
server cannot be reached, the worker goes on reading; the queue holds up to 100,000 increments.

    set -a; . .dev/sbctl.env; set +a
    python examples/python-worker/worker.py results.queue < results.ndjson

A result that is read again, after a crash, counts once: its event id is the match and the user.
"""

import json
import sys
import threading

from scoreboard import OfflineQueue, Scoreboard, ScoreboardError


def main(path: str) -> int:
    with Scoreboard() as sb, OfflineQueue(sb, path) as queue:
        stop = threading.Event()
        sender = threading.Thread(
            target=queue.run, args=(stop,), kwargs={"waiting": lambda error: print(error, file=sys.stderr)}
        )
        sender.start()
        try:
            for line in sys.stdin:
                result = json.loads(line)
                event_id = f"match:{result['match']}:{result['user']}"
                queue.add(user_id=result["user"], delta=result["points"], event_id=event_id)
        finally:
            stop.set()
            sender.join()
        try:
            queue.flush()
        except ScoreboardError as error:
            print(f"{len(queue)} results wait for the next run: {error}. {error.next_step}", file=sys.stderr)
            return 1
        for rejected in queue.rejected():
            print(f"{rejected.increment.event_id}: {rejected.message} ({rejected.code})", file=sys.stderr)
        for entry in sb.top(limit=3).entries:  # the board follows what was counted by a fraction of a second
            print(f"{entry.rank}. {entry.user_id} {entry.score}")
        return 3 if queue.forget_rejected() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "results.queue"))
