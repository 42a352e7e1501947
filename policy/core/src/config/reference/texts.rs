//! What each setting is for, why its default is what it is, and what goes wrong at either end.

use super::{Text, table, value};

/// By path.
pub(super) const TEXTS: &[(&str, Text)] = &[
    (
        "/prefix",
        value(
            "What every key in the store begins with.",
            "One fleet on a store is the usual case, and a name tells whose keys they are.",
            "A prefix that another program has on the same store: each takes the other's keys for its own.",
            "Another prefix on some hosts: those are a fleet of their own, and share nothing with the rest.",
        ),
    ),
    (
        "/profiles",
        table(
            "How services of your own signal failure, by name: policy/PROFILES.md has the syntax.",
        ),
    ),
    (
        "/providers",
        table(
            "What holds for one provider alone, by its name; what is not set there is as for all.",
        ),
    ),
    (
        "/profile",
        value(
            "How the provider signals failure: the name of a profile, built in or of your own.",
            "Without one the HTTP status decides, which is right for services that use it as it is meant.",
            "None, for a service that reports errors inside a 200: its failures count as successes.",
            "That of another service: what it says in good health may count as a failure.",
        ),
    ),
    (
        "/expect",
        value(
            "What callers can use, where an observation does not say: an answer of another kind is a failure.",
            "Anything is expected, since only the caller knows.",
            "`any`, where callers need JSON: a page that says `come back later` with a 200 is a success.",
            "One kind, where good answers come in two: the other one counts as a failure.",
        ),
    ),
    (
        "/slow",
        value(
            "From when on a call is slow: a duration, or a table with `limit` and `learnt`. Slow calls are \
             counted apart from failures, and open the breaker where `breaker.slow-ratio` is on.",
            "10 s is longer than people wait, and shorter than most clients' time limits.",
            "Shorter than good answers take: a healthy provider is slow all the time.",
            "Longer than the time limit of calls: those fail before they are slow, and nothing is.",
        ),
    ),
    (
        "/slow/limit",
        value(
            "From when on a call is slow, whatever has been learnt.",
            "As `slow` without a table.",
            "Shorter than good answers take: a healthy provider is slow all the time.",
            "Longer than the time limit of calls: what is learnt decides alone.",
        ),
    ),
    (
        "/slow/learnt",
        value(
            "A limit that follows what is usual for the provider, or its operation: a multiple of the 99th \
             percentile of good answers, where that is shorter than `limit`; `false` turns it off.",
            "Off: it costs the store one more counter for each good answer.",
            "Off, for a provider that answers in milliseconds: it is slow only when it is a thousand times so.",
            "On, for a provider whose good answers differ by the request: heavy ones are slow. Tell \
             operations apart.",
        ),
    ),
    (
        "/slow/learnt/times",
        value(
            "How many times the 99th percentile a slow call takes.",
            "Three: a cache that is cold doubles the time, a provider in trouble multiplies it.",
            "Near 1: one call in a hundred is slow in good health, and a busy hour opens the breaker.",
            "Large: the provider is slow only when callers have long noticed.",
        ),
    ),
    (
        "/slow/learnt/floor",
        value(
            "The shortest limit that may be learnt.",
            "1 s: shorter delays are the network's as often as the provider's.",
            "A few ms: a pause of a garbage collector counts as slow.",
            "As long as `slow.limit`: nothing is learnt.",
        ),
    ),
    (
        "/slow/learnt/window",
        value(
            "Over what time the percentile is taken. A change of the provider's pace that lasts is \
             accepted within it.",
            "10 min: long enough for a sample, short enough to follow the hours of a day.",
            "Short: at night the sample is too small, and the absolute limit holds alone.",
            "A day: the pace of last night is the measure of this noon.",
        ),
    ),
    (
        "/slow/learnt/minimum",
        value(
            "The fewest good answers that the percentile is taken of.",
            "100: the 99th of a hundred is the largest that may be called usual.",
            "Few: one odd answer is the percentile.",
            "More than come within the window: nothing is ever learnt.",
        ),
    ),
    (
        "/breaker",
        table("When the breaker opens, how long, and how it closes again."),
    ),
    (
        "/breaker/failures",
        value(
            "Opens at so many failures within the window; `false` turns the rule off.",
            "On: it finds out services that are called too seldom for a share.",
            "Off, for a service that is called once in a minute: no share is ever taken, and it never opens.",
            "On, for a service with thousands of calls: five failures of ten thousand open it. Raise the \
             count, or turn it off and use `failure-ratio`.",
        ),
    ),
    (
        "/breaker/failures/count",
        value(
            "How many failures.",
            "Five in a minute: found out within a minute at a call in ten seconds, and one stray error opens \
             nothing.",
            "1: any error refuses the provider to everybody for half a minute.",
            "More than the fleet's calls within the window: the rule never trips.",
        ),
    ),
    (
        "/breaker/failures/window",
        value(
            "Within what time. Of the three rules' windows one may be twelve times as long as another.",
            "60 s: what failed a minute ago is over, or would have failed again.",
            "Short: a service that is called seldom never collects enough.",
            "Long: failures of an hour ago, long mended, open it.",
        ),
    ),
    (
        "/breaker/failure-ratio",
        value(
            "Opens where this share of at least `minimum` calls within the window has failed; `false` turns \
             the rule off.",
            "On: it is the measure for services with many calls.",
            "Off, for a busy service: a count alone opens it for a small share, or not for a large one.",
            "On beside `failures`: whichever trips first opens it.",
        ),
    ),
    (
        "/breaker/failure-ratio/share",
        value(
            "The share of failures, above 0 to 1.",
            "Half: a provider that fails every other call is not worth the wait.",
            "Small: what a service gets wrong on a usual day opens it.",
            "1: it opens only when nothing works at all.",
        ),
    ),
    (
        "/breaker/failure-ratio/minimum",
        value(
            "The fewest calls that a share is taken of.",
            "20: two of four is no sample.",
            "Few: one failure of two calls at night opens it.",
            "More than come within the window: the rule never trips.",
        ),
    ),
    (
        "/breaker/failure-ratio/window",
        value(
            "Within what time. Of the three rules' windows one may be twelve times as long as another.",
            "30 s: a busy service has its sample by then, and an outage is found out in the middle of it.",
            "Short: too few calls for the minimum.",
            "Long: the good calls before the outage hide it for as long.",
        ),
    ),
    (
        "/breaker/slow-ratio",
        value(
            "Opens where this share of at least `minimum` calls within the window was slow. Those that are \
             still under way count when they pass the limit. `false` turns the rule off.",
            "Off: what is slow differs by service, and an answer of a language model takes a minute in good \
             health.",
            "Off, for a provider that hangs rather than fails: every worker waits for it until it times out.",
            "On, with a `slow` that is shorter than good answers take: a healthy provider is refused.",
        ),
    ),
    (
        "/breaker/slow-ratio/share",
        value(
            "The share of slow calls, above 0 to 1.",
            "0.8: some requests are heavy, and a provider in trouble is slow with nearly all.",
            "Small: heavy requests open it.",
            "1: one quick answer from a cache keeps it closed.",
        ),
    ),
    (
        "/breaker/slow-ratio/minimum",
        value(
            "The fewest calls that a share is taken of.",
            "20: as for failures.",
            "Few: two heavy requests at night open it.",
            "More than come within the window: the rule never trips.",
        ),
    ),
    (
        "/breaker/slow-ratio/window",
        value(
            "Within what time. Of the three rules' windows one may be twelve times as long as another.",
            "60 s: slow calls take their time to come together.",
            "Shorter than a slow call takes: few are ever in it at once.",
            "Long: quick answers from before the trouble hide it.",
        ),
    ),
    (
        "/breaker/quorum",
        table(
            "How many must have seen it before the breaker opens for all. Below that an instance opens for \
             itself alone.",
        ),
    ),
    (
        "/breaker/quorum/instances",
        value(
            "How many distinct instances must have seen a failure.",
            "1: whoever sees enough failures speaks for all, and an outage is found out soonest.",
            "1, in a fleet of which one host may be behind a broken proxy: it opens the breaker for all.",
            "As many as there are instances: one that is idle keeps the breaker closed for the rest.",
        ),
    ),
    (
        "/breaker/quorum/fingerprints",
        value(
            "How many distinct requests must have failed, where hosts tell them apart.",
            "1: most services do not fail by the request.",
            "1, for a service that a single request can crash: one poisonous request opens it for all.",
            "Many, for a service with few distinct requests: it never opens for all.",
        ),
    ),
    ("/breaker/cool-down", table("How long it stays open.")),
    (
        "/breaker/cool-down/first",
        value(
            "How long the first opening lasts.",
            "30 s: restarts and fail-overs are mostly over by then.",
            "Short: the provider is probed while it starts, and each failed probe doubles the next one.",
            "Long: callers do without a provider that has long recovered.",
        ),
    ),
    (
        "/breaker/cool-down/growth",
        value(
            "The factor for each further opening in a row.",
            "2: five failed probes find the maximum.",
            "1: a provider that is down for a day is probed twice a minute all day.",
            "Large: one failed probe costs the longest cool-down.",
        ),
    ),
    (
        "/breaker/cool-down/max",
        value(
            "What growth stops at.",
            "10 min: a recovery is noticed within a coffee break.",
            "As `first`: it never grows.",
            "Hours: so long may a provider be well before anybody notices.",
        ),
    ),
    (
        "/breaker/cool-down/jitter",
        value(
            "The largest share that is added at random, never taken away.",
            "0.1: breakers that opened together do not probe together.",
            "0: breakers of several providers that failed together probe in the same moment.",
            "1: a cool-down may last twice as long as it says.",
        ),
    ),
    (
        "/breaker/cool-down/quiet",
        value(
            "How long it must have been closed before the next opening counts as the first again.",
            "10 min: as long as the longest cool-down, so a flapping provider keeps it.",
            "0: a provider that fails after each recovery is tried every 30 s, with everybody's calls.",
            "A day: two outages in one day, and the second begins with the longest cool-down.",
        ),
    ),
    (
        "/breaker/probes",
        table("How recovery is tested: one call in the fleet at a time."),
    ),
    (
        "/breaker/probes/needed",
        value(
            "How many clean probes in a row close it.",
            "3: one success may be a lucky replica.",
            "1: the first lucky answer lets everybody through.",
            "Many: with little traffic recovery takes as many calls.",
        ),
    ),
    (
        "/breaker/probes/lease",
        value(
            "How long a probe has its lease at least; as long as its call may last in any case.",
            "10 s: longer than most calls.",
            "Shorter than calls take, where hosts do not say how long: two probes at once.",
            "Long: a probe whose host died keeps the others waiting for so long.",
        ),
    ),
    (
        "/breaker/probes/time-share",
        value(
            "How much of a call's time a probe is given, until it was in vain twice: then all of it.",
            "Half: a provider that is still down should not hold a caller for long.",
            "Small: good answers come too late for a probe, and the second and third chance are lost.",
            "1: each probe of a provider that hangs costs its caller the whole time.",
        ),
    ),
    (
        "/breaker/ramp",
        value(
            "After closing a rising share of the calls is let through; `false` lets all through at once.",
            "On: a provider that has just come back does not bear a fleet's whole traffic at once.",
            "Off: on recovery everybody calls in the same moment, and it fails again.",
            "On, where no other provider is left: some calls are refused though they would have been answered.",
        ),
    ),
    (
        "/breaker/ramp/time",
        value(
            "How long until all are let through.",
            "10 s: caches and pools are warm by then.",
            "Short: as without.",
            "Long: callers do without a provider that is well.",
        ),
    ),
    (
        "/breaker/ramp/first-share",
        value(
            "The share that is let through at first.",
            "0.1: enough for rules to see whether it holds.",
            "Small: with little traffic nobody finds out whether it does.",
            "1: as without.",
        ),
    ),
    (
        "/breaker/holds",
        value(
            "Whether an account that was throttled, or whose credential was rejected, is held back until \
             its hint has passed; one that was throttled without a name holds its provider back.",
            "On: a call that is repeated too soon may extend the punishment, and is of no use.",
            "Off: each worker finds out by itself that the account is throttled.",
            "On, where one provider's calls carry many callers' own credentials without account names: one \
             caller that is throttled holds back all. Name accounts.",
        ),
    ),
    (
        "/breaker/enforce",
        value(
            "How many of a hundred refusals are enforced, by lot. An operator's order goes before it.",
            "100: the breaker is there to be heeded.",
            "0: it decides and records, and refuses nobody: for trying out a new provider's settings.",
            "100, for settings that nobody has tried: a mistake in them refuses good calls.",
        ),
    ),
    (
        "/breaker/store-failure",
        value(
            "What is done while the store is out of reach: `local` (each instance keeps a breaker of its own), \
             `allow` (every call is let through), `deny` (every call is refused).",
            "`local`: an outage of the provider may come with one of the store, and is found out all the same.",
            "`allow`: without the store every worker pays for each doomed call.",
            "`deny`: an outage of the store is one of everything behind it. For calls that must not be made \
             without the fleet's knowledge.",
        ),
    ),
    (
        "/breaker/idle",
        value(
            "How long after its cool-down an opening is remembered without any traffic.",
            "1 h: the next call after that is as good as a probe.",
            "Short: a provider that is called seldom is never known to be down.",
            "Days: after a week of quiet the first call has to be a probe, and others are refused meanwhile.",
        ),
    ),
    (
        "/retry",
        table("When a call is tried again at the same provider."),
    ),
    (
        "/retry/attempts",
        value(
            "Attempts at one provider within one call, the first included.",
            "3: what two repetitions do not mend is no hiccup.",
            "1: a connection that was reset fails the call.",
            "Many: each call to a provider in trouble is multiplied, just when it can bear that least.",
        ),
    ),
    (
        "/retry/base",
        value(
            "The upper end of the first wait, which is drawn evenly from zero to it; doubled each time.",
            "200 ms: most hiccups are over, and people do not notice.",
            "Short: all attempts fall into the same hiccup.",
            "Long: callers wait for what another provider could have answered.",
        ),
    ),
    (
        "/retry/max",
        value(
            "What the upper end stops at.",
            "2 s: who waits longer than that does not wait for the answer any more.",
            "As `base`: it never grows.",
            "Long: a call waits for most of its time.",
        ),
    ),
    (
        "/hints",
        table("How far a provider's own word on waiting is believed."),
    ),
    (
        "/hints/max",
        value(
            "The longest wait that is believed; a longer one is taken as this.",
            "6 h: what well-known clients take as the most.",
            "Short: an account whose quota is over until tomorrow is asked all day.",
            "A day: a mistake in one header takes a provider out for so long.",
        ),
    ),
    (
        "/hints/inline",
        value(
            "The longest that a call waits in line for its next attempt. A longer hint means: not within \
             this call.",
            "30 s: longer than that another provider, or an error, is worth more.",
            "0: a call never waits for what a provider asks, and goes on or fails at once.",
            "Long: callers hang for minutes on a provider's word.",
        ),
    ),
];
