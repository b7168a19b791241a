"""Small tables to start from: they pass the checks as they stand."""

from __future__ import annotations

SESSIONS = """\
unit_id,session_id,variant,start_ts,clicks,watch_s,videos
u1,s1,control,2026-11-02T09:00:00Z,2,1800,2
u1,s2,control,2026-11-03T20:15:00Z,0,0,0
u2,s3,control,2026-11-02T12:40:00Z,1,640,1
u3,s4,new,2026-11-02T18:30:00Z,3,4100,3
u4,s5,new,2026-11-04T07:05:00Z,1,300,1
"""

AGGREGATES = """\
variant,metric,n,mean,variance,successes,trials
control,session_watch_time,5210,13.5,177.8,,
new,session_watch_time,5184,14.1,182.2,,
control,click_rate,,,,2146,20940
new,click_rate,,,,2235,20815
"""


def templates() -> dict[str, str]:
    """CSV text by kind of online table."""
    return {"sessions": SESSIONS, "aggregates": AGGREGATES}
