"""Small example tables that pass all checks.

Exposures, events and served lists describe the same sessions as ``SESSIONS``: counted, they give its rows.
"""

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


EXPOSURES = """\
experiment_id,unit_id,variant,ts
november,u1,control,2026-11-02T09:00:05Z
november,u2,control,2026-11-02T12:40:05Z
november,u3,new,2026-11-02T18:30:05Z
november,u4,new,2026-11-04T07:05:05Z
"""

EVENTS = """\
unit_id,session_id,ts,event,item_id,watch_s,source,position,request_id,event_id
u1,s1,2026-11-02T09:00:00Z,impression,film-01,,recommendations,1,r1,e01
u1,s1,2026-11-02T09:00:00Z,impression,film-02,,recommendations,2,r1,e02
u1,s1,2026-11-02T09:00:00Z,impression,film-07,,recommendations,3,r1,e03
u1,s1,2026-11-02T09:01:00Z,click,film-02,,recommendations,2,r1,e04
u1,s1,2026-11-02T09:11:30Z,watch,film-02,600,recommendations,,r1,e05
u1,s1,2026-11-02T09:12:00Z,click,film-01,,recommendations,1,r1,e06
u1,s1,2026-11-02T09:33:00Z,watch,film-01,1200,recommendations,,r1,e07
u2,s3,2026-11-02T12:40:00Z,impression,film-01,,recommendations,1,r2,e08
u2,s3,2026-11-02T12:40:00Z,impression,film-05,,recommendations,2,r2,e09
u2,s3,2026-11-02T12:40:00Z,impression,film-03,,recommendations,3,r2,e10
u2,s3,2026-11-02T12:41:00Z,click,film-05,,recommendations,2,r2,e11
u2,s3,2026-11-02T12:52:00Z,watch,film-05,640,recommendations,,r2,e12
u3,s4,2026-11-02T18:30:00Z,impression,film-04,,recommendations,1,r3,e13
u3,s4,2026-11-02T18:30:00Z,impression,film-06,,recommendations,2,r3,e14
u3,s4,2026-11-02T18:30:00Z,impression,film-02,,recommendations,3,r3,e15
u3,s4,2026-11-02T18:31:00Z,click,film-04,,recommendations,1,r3,e16
u3,s4,2026-11-02T18:57:00Z,watch,film-04,1500,recommendations,,r3,e17
u3,s4,2026-11-02T18:57:00Z,click,film-06,,recommendations,2,r3,e18
u3,s4,2026-11-02T19:21:00Z,watch,film-06,1400,recommendations,,r3,e19
u3,s4,2026-11-02T19:22:00Z,click,film-02,,recommendations,3,r3,e20
u3,s4,2026-11-02T19:43:00Z,watch,film-02,1200,recommendations,,r3,e21
u1,s2,2026-11-03T20:15:00Z,watch,film-07,900,search,,,e22
u4,s5,2026-11-04T07:05:00Z,impression,film-08,,recommendations,1,r4,e23
u4,s5,2026-11-04T07:05:00Z,impression,film-03,,recommendations,2,r4,e24
u4,s5,2026-11-04T07:05:00Z,impression,film-06,,recommendations,3,r4,e25
u4,s5,2026-11-04T07:06:00Z,click,film-08,,recommendations,1,r4,e26
u4,s5,2026-11-04T07:07:00Z,heartbeat,film-08,60,recommendations,,r4,e27
u4,s5,2026-11-04T07:09:00Z,heartbeat,film-08,180,recommendations,,r4,e28
u4,s5,2026-11-04T07:11:00Z,heartbeat,film-08,300,recommendations,,r4,e29
u4,s5,2026-11-04T07:20:00Z,watch,film-03,400,search,,,e30
"""

SERVED = """\
request_id,unit_id,ts,variant,rank,item_id
r1,u1,2026-11-02T09:00:00Z,control,1,film-01
r1,u1,2026-11-02T09:00:00Z,control,2,film-02
r1,u1,2026-11-02T09:00:00Z,control,3,film-07
r2,u2,2026-11-02T12:40:00Z,control,1,film-01
r2,u2,2026-11-02T12:40:00Z,control,2,film-05
r2,u2,2026-11-02T12:40:00Z,control,3,film-03
r3,u3,2026-11-02T18:30:00Z,new,1,film-04
r3,u3,2026-11-02T18:30:00Z,new,2,film-06
r3,u3,2026-11-02T18:30:00Z,new,3,film-02
r4,u4,2026-11-04T07:05:00Z,new,1,film-08
r4,u4,2026-11-04T07:05:00Z,new,2,film-03
r4,u4,2026-11-04T07:05:00Z,new,3,film-06
"""

INTERLEAVING = """\
request_id,unit_id,rank,item_id,team,clicked
r1,u1,1,film-01,popular,0
r1,u1,2,film-02,als,1
r1,u1,3,film-07,als,0
r1,u1,4,film-05,popular,0
r2,u2,1,film-04,als,1
r2,u2,2,film-01,popular,0
r2,u2,3,film-05,popular,1
r2,u2,4,film-06,als,1
"""

BANDIT = """\
timestamp,item_id,position,click,propensity_score
2026-11-02T09:00:00Z,film-01,1,1,0.25
2026-11-02T09:00:00Z,film-02,2,0,0.5
2026-11-02T09:04:30Z,film-03,1,0,0.25
2026-11-02T09:07:10Z,film-01,1,0,0.5
"""

POLICY = """\
item_id,probability
film-01,0.6
film-02,0.3
film-03,0.1
"""


def templates() -> dict[str, str]:
    """Returns kind of online table → its example as CSV text."""
    return {
        "sessions": SESSIONS,
        "exposures": EXPOSURES,
        "events": EVENTS,
        "served": SERVED,
        "aggregates": AGGREGATES,
        "interleaving": INTERLEAVING,
        "bandit": BANDIT,
        "policy": POLICY,
    }
