//! What the gateway's settings are for, why their defaults are what they are, and what goes wrong at
//! either end.

use fusewire_core::config::reference::{Text, table, value};

/// By path.
pub(super) const TEXTS: &[(&str, Text)] = &[
    (
        "/rollout",
        table(
            "Whose policies may run here, and how one takes the place of another while calls go on.",
        ),
    ),
    (
        "/rollout/fleet",
        value(
            "Whether this host runs what `fusewire policy push` has put into the fleet's store.",
            "No: who can write to the store could otherwise replace every host's policy.",
            "Off, on one host of a fleet: it decides by another policy than the rest.",
            "On without `keys`: whoever writes to the store decides what runs.",
        ),
    ),
    (
        "/rollout/token",
        value(
            "What an operator has to know who replaces the policy over HTTP at the admin address; may be `env:NAME`. By default that cannot be done.",
            "None: nothing is changed over HTTP unless somebody has asked for that.",
            "A short one: it can be guessed.",
            "One that is written here in full: whoever reads the file has it. Write `env:NAME`.",
        ),
    ),
    (
        "/rollout/keys",
        value(
            "Public keys of minisign. With any, nothing loads that none of them has signed.",
            "None, so that a first policy can be tried; with a fleet have one.",
            "None: whatever is put into the file or pushed runs.",
            "A key that somebody has lost: who found it may sign policies. Take it out, and sign anew.",
        ),
    ),
    (
        "/rollout/digests",
        value(
            "The only policies that load, by their digests; `fusewire policy inspect` shows one.",
            "None: keys are the usual way, and a digest changes with each build.",
            "None: whatever is signed may run, older policies too.",
            "A few, and none of the next build: it does not load.",
        ),
    ),
    (
        "/rollout/limits",
        table("What one instance of a policy may use."),
    ),
    (
        "/rollout/limits/deadline",
        value(
            "How long a policy may take for one question.",
            "100 ms: a thousand times what the built-in one takes, and less than anybody notices.",
            "A few ms: on a busy machine a good policy runs out of time, and calls go through without it.",
            "Seconds: a policy that loops holds up a thread for so long, on each call.",
        ),
    ),
    (
        "/rollout/limits/memory",
        value(
            "How much memory an instance may have, in bytes.",
            "16 MiB: many times what the built-in one takes.",
            "Less than a policy needs: it does not start.",
            "Much: a policy that leaks takes that much for each of its instances.",
        ),
    ),
    (
        "/rollout/largest",
        value(
            "The most bytes that a policy may have.",
            "16 MiB: many times the built-in one.",
            "Smaller than a policy: it does not load.",
            "Large: a file that is no policy takes as much memory before that is known.",
        ),
    ),
    (
        "/rollout/scenarios",
        value(
            "A folder of your own scenarios (`*.toml`): a policy must come out as they say before it serves.",
            "None: a policy carries scenarios of its own.",
            "None: what matters to you alone is not tried before a policy serves.",
            "Some that are about one version's words: no newer version ever passes.",
        ),
    ),
    (
        "/rollout/folder",
        value(
            "A folder of this host's own, for the last good policy and for compiled code.",
            "None: nothing is written unless somebody has said where.",
            "None: a host whose wanted policy does not load does not start.",
            "One that several hosts share: each takes the other's last good policy for its own.",
        ),
    ),
    (
        "/rollout/watch",
        value(
            "Whether the file of `policy.component`, and `[policy]` in this file, are looked at once a second and taken in when they change.",
            "Yes: a change goes through every stage before it decides.",
            "Off: a change takes a restart, and calls are cut off by that.",
            "On, where a file is written in parts: half of it is refused, with a line in the log, until the rest is there.",
        ),
    ),
    (
        "/rollout/shadow",
        table(
            "A candidate first decides a share of the questions beside the serving policy, without effect.",
        ),
    ),
    (
        "/rollout/shadow/share",
        value(
            "The share of questions. 0 leaves the stage out.",
            "0.1: enough to see differences, at a tenth of the cost.",
            "0: the first calls that a bad policy decides are real ones.",
            "1: each question is decided twice.",
        ),
    ),
    (
        "/rollout/shadow/for",
        value(
            "How long at least.",
            "30 s: each kind of answer has come by then where there is traffic.",
            "0: it is over before there is anything to compare.",
            "Long: a mistake in the serving policy is mended as late.",
        ),
    ),
    (
        "/rollout/shadow/decisions",
        value(
            "How many decisions are compared at least.",
            "100: fewer say nothing of a share of differences.",
            "0: it may be over without a single one.",
            "More than come within `at-most`: the time alone ends the stage.",
        ),
    ),
    (
        "/rollout/shadow/at-most",
        value(
            "When the stage ends, however few decisions were compared.",
            "5 min: a host without traffic does not hold up the fleet.",
            "As `for`: a host with little traffic compares too little.",
            "Hours: a quiet host keeps the old policy for so long.",
        ),
    ),
    (
        "/rollout/shadow/differences",
        value(
            "The share of decisions that may differ.",
            "0.05: an improvement differs now and then, a mistake all the time.",
            "0: nothing that decides differently can ever be put in place.",
            "1: no difference stops it.",
        ),
    ),
    (
        "/rollout/shadow/faults",
        value(
            "How often it may trap, time out or be refused by the store.",
            "1: one may be the machine's fault.",
            "0: a pause of the machine stops a good policy.",
            "Many: a policy that traps in places comes to decide.",
        ),
    ),
    (
        "/rollout/canary",
        table("Then it truly decides for a share of the providers."),
    ),
    (
        "/rollout/canary/share",
        value(
            "The share of providers. 0 leaves the stage out.",
            "0.1: a mistake is felt in one place.",
            "0: it decides for all at once.",
            "1: as without the stage.",
        ),
    ),
    (
        "/rollout/canary/for",
        value(
            "How long.",
            "30 s: a policy that refuses too much is found out by then.",
            "0: it is over at once.",
            "Long: two policies decide side by side for as long.",
        ),
    ),
    (
        "/rollout/probation",
        table(
            "For so long after it has begun to serve the policy before it is put back by itself where it does badly.",
        ),
    ),
    (
        "/rollout/probation/for",
        value(
            "How long.",
            "10 min: an opening and its probes fit into it.",
            "0: nothing is ever put back by itself.",
            "A day: an outage of tomorrow may be taken for the policy's fault.",
        ),
    ),
    (
        "/rollout/probation/faults",
        value(
            "How often it may trap, time out or break its contract.",
            "5: more is no accident.",
            "0: a pause of the machine takes a good policy back.",
            "Many: calls go through without a breaker as often.",
        ),
    ),
    (
        "/rollout/probation/store-refusals",
        value(
            "How often the store may refuse what it asks.",
            "5: more is no accident.",
            "0: one odd key takes it back.",
            "Many: outcomes are lost as often.",
        ),
    ),
    (
        "/rollout/probation/refusals",
        value(
            "The share of all calls that it may refuse where the policy before would have let them through.",
            "0.1: a stricter policy refuses more, one with a mistake refuses most.",
            "0: a policy that is stricter in any way is taken back.",
            "1: one that refuses everything stays.",
        ),
    ),
    (
        "/rollout/probation/refusals-minimum",
        value(
            "From how many such refusals on that is counted.",
            "20: fewer say nothing of a share.",
            "1: the first stricter refusal may take it back.",
            "Many: as many good calls are refused before it is.",
        ),
    ),
    (
        "/rollout/linger",
        table(
            "A call ends with the policy that it began with; this is how long replaced ones are kept for that.",
        ),
    ),
    (
        "/rollout/linger/policies",
        value(
            "How many replaced policies may be in use.",
            "16: nobody replaces faster than calls end.",
            "1: a second replacement leaves older calls without a policy.",
            "Many: each takes its memory.",
        ),
    ),
    (
        "/rollout/linger/for",
        value(
            "How long a replaced policy is kept for calls under way.",
            "5 min: longer than calls last.",
            "0: calls under way go on without a policy, and their outcomes are not counted.",
            "Long: a stream that never ends keeps an old policy in memory.",
        ),
    ),
    (
        "/listen",
        value(
            "Where callers come in: an IP address and a port.",
            "`127.0.0.1:8700`: this machine alone, since a gateway sends its providers' keys for whoever asks.",
            "Loopback, for workers on other machines: nobody reaches it.",
            "`0.0.0.0:8700`: everybody who reaches the machine calls your providers at your cost.",
        ),
    ),
    (
        "/admin",
        value(
            "Where `/metrics` and `/policy` are, apart from the callers.",
            "None: `/metrics` is where the callers come in, and policies are not changed over HTTP.",
            "None, with callers who are strangers: they read the metrics.",
            "One that strangers reach: they see every provider's state.",
        ),
    ),
    (
        "/instance",
        value(
            "This host's name in the fleet, distinct; 1 to 128 bytes.",
            "A random one: it is distinct in any case.",
            "None: a restart is a new host in the log and for a quorum.",
            "The same on two hosts: they count as one.",
        ),
    ),
    (
        "/request-limit",
        value(
            "The longest body of a request, in bytes.",
            "1 MiB: it is kept in memory for the next attempt.",
            "Small: larger requests are refused with 413.",
            "Large: each request in flight may take as much memory.",
        ),
    ),
    (
        "/grace",
        value(
            "How long requests in flight may go on once the gateway is told to stop.",
            "10 s: longer than a call's usual limit.",
            "0: each stop cuts calls off.",
            "Longer than whoever stops it waits before it kills: as if it were as long as that.",
        ),
    ),
    (
        "/live-domains",
        value(
            "How many domains (providers, and their accounts and operations) this process keeps something of. Past it the closed one goes that was called least recently.",
            "10,000: some 15 MB, and as many series as Prometheus takes well.",
            "Fewer than are called within a window: failures that are far apart do not add up without a Redis, and series come and go.",
            "Millions: gigabytes, and a scrape takes seconds.",
        ),
    ),
    ("/store", table("What the fleet shares.")),
    (
        "/store/url",
        value(
            "The Redis server; may be `env:NAME`.",
            "None: each gateway is alone, which takes nothing to begin with.",
            "None, with several gateways: each discovers every outage for itself.",
            "A Redis that evicts keys: openings may be forgotten before their time.",
        ),
    ),
    (
        "/store/timeout",
        value(
            "How long a question to the store is waited for; a call then goes on without it.",
            "50 ms: far below a provider's time limit, far above the store's usual answer.",
            "A ms or two: a busy store counts as out of reach.",
            "A second: a store in trouble delays every call by as much until it is out of use.",
        ),
    ),
    (
        "/store/clock-warning",
        value(
            "How far this host's clock may be off the store's before the log says so. Breakers follow the store's.",
            "1 s: a time service keeps a host within some tens of ms.",
            "Below a tenth of a second: slow answers of the store are told of.",
            "Minutes: nothing is said until two logs contradict each other.",
        ),
    ),
    (
        "/exchange",
        table(
            "Lets filters in Envoy share this fleet's breakers, over HTTP where the callers come in.",
        ),
    ),
    (
        "/exchange/path",
        value(
            "Where.",
            "`/fusewire/exchange`: no route of yours is likely to begin so.",
            "A path that a route has as well: the exchange takes it.",
            "Another than in the filters: they find nothing, and decide by themselves.",
        ),
    ),
    (
        "/exchange/token",
        value(
            "What a filter has to know; may be `env:NAME`.",
            "None, which is for a gateway that nobody else reaches.",
            "None, on an address that others reach: they can change what the fleet believes.",
            "One that is written here in full: whoever reads the file has it.",
        ),
    ),
    (
        "/providers",
        table("The services that are called, by name."),
    ),
    (
        "/providers/*/account",
        value(
            "Whose credential is used there: a domain with a breaker, and holds, of its own.",
            "None: the provider has one, or none.",
            "None, with several credentials: one that is throttled holds back all.",
            "One for each caller: as many domains as callers.",
        ),
    ),
    (
        "/providers/*/operation",
        value(
            "What is asked for there, such as a layer or an endpoint: a domain with a breaker of its own.",
            "None: calls are not told apart.",
            "None, for a map server: one broken layer opens all of it.",
            "One for each request: none is ever called often enough.",
        ),
    ),
    (
        "/providers/*/url",
        value(
            "Where it is asked. `{name}` is the request's query parameter of that name, `{name=text}` has a default, `{path}` is what follows the route's path, `{query}` the whole query string.",
            "It has none: a provider without one cannot be asked.",
            "Without a parameter that callers send: it is left out.",
            "With one that callers leave out, and no default: such requests are refused with 400.",
        ),
    ),
    (
        "/providers/*/total",
        value(
            "How long an attempt may take in all.",
            "8 s: longer than good answers of most services, shorter than people wait.",
            "Shorter than good answers take: they fail, and open the breaker.",
            "Minutes, for what answers in a second: workers wait for a provider that hangs.",
        ),
    ),
    (
        "/providers/*/connect",
        value(
            "How long until there is a connection.",
            "2 s: a packet may be lost once.",
            "Shorter than a trip around the world with a lost packet: distant providers fail.",
            "Long: a host that is gone costs each caller as much.",
        ),
    ),
    (
        "/providers/*/read",
        value(
            "How long from byte to byte.",
            "4 s: a provider that pauses longer has stopped.",
            "Shorter than its pauses: answers break off.",
            "As `total`: it never fires.",
        ),
    ),
    (
        "/providers/*/probe",
        value(
            "How long a probe may take in all, where that is shorter than what the policy gives it.",
            "As `total`: the policy gives a probe its share (`policy.breaker.probes.time-share`).",
            "Shorter than good answers take: no probe ever passes.",
            "As `total`: the policy's share alone counts.",
        ),
    ),
    (
        "/providers/*/headers",
        table(
            "Fields that are sent with every request, in place of the caller's; a value may be `env:NAME`.",
        ),
    ),
    (
        "/providers/*/redirects",
        value(
            "How many redirects are followed, at the same origin alone.",
            "5: one to the right spelling, one to a slash, and some to spare.",
            "0: a provider that has moved a path fails.",
            "Many: a circle of redirects costs as many requests.",
        ),
    ),
    (
        "/providers/*/buffer",
        value(
            "How many bytes of an answer are kept back, so that one which breaks off within them goes to the next provider.",
            "256 KiB: most answers of web APIs whole.",
            "0: every byte is passed on as it comes, and an answer that breaks off is the caller's.",
            "Large: each answer in flight takes as much memory, and callers wait for it.",
        ),
    ),
    ("/routes", table("Which requests go to which providers.")),
    (
        "/routes/*/path",
        value(
            "A path, or `/tiles/*` for all that begins so; the longest that fits takes the request.",
            "It has none: a route without one takes nothing.",
            "Longer than what callers ask for: they get 404.",
            "`/*`: everything goes there that no other route takes.",
        ),
    ),
    (
        "/routes/*/chain",
        value(
            "Providers in the order in which they are asked.",
            "It has none: there is nobody to ask.",
            "One provider: when it is refused there is no answer.",
            "Many: a call that fails everywhere takes the time of all of them, or its deadline.",
        ),
    ),
    (
        "/routes/*/methods",
        value(
            "The methods that it takes, in capitals.",
            "All: providers know best what they take.",
            "`GET` alone: everything else gets 405.",
            "All, for a provider that charges by the call: a stray `POST` costs.",
        ),
    ),
    (
        "/routes/*/deadline",
        value(
            "How long the whole call may take, over all attempts and providers.",
            "None: each attempt has limits of its own, and there are only so many.",
            "Shorter than one attempt: a provider that is slow leaves no time for the next one.",
            "Longer than callers wait: the last attempts are for nobody.",
        ),
    ),
    (
        "/policy",
        table(
            "The policy that decides, and its settings. What follows is the built-in one's; another has its own.",
        ),
    ),
    (
        "/policy/component",
        value(
            "The file of another policy than the built-in one, from this file's folder.",
            "None: the built-in one.",
            "None, where a fleet's hosts have different versions: each runs its own.",
            "A file that is written while it is read: it is refused until it is whole.",
        ),
    ),
];
