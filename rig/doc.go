// Package rig plays scenarios against whole deployments: people in the local Discord, a scripted model, a runner
// beside a real git project, and an edge that is killed at named points and started again. The same files run on three
// hosts: "linked" (all in this process), "selfhosted" (the real programs) and "workerd" (the Cloudflare edge).
//
// Beside the files, Crash kills a deployment at random while people ask; `make crash` does it two hundred times.
//
// # Files
//
// A scenario is a txtar archive. Its comment is the header:
//
//	# F08 a tool dies …        the row of the failure matrix, if there is one, and what is shown
//	hosts: linked selfhosted   where it is played; absent: everywhere
//	patience: 90s              how long an expectation may take to come true; absent: 45s
//
// The file "steps" holds a line for each step. Beside it there may be "settings.json" (laid over the settings of the
// workspace: maya admin, sam member, kim nobody, self_approve, the channel bound; an "expiry" is approval_expiry_ms),
// "policy.json" (the workspace's policy; absent: the shipped one) and "project/PATH" (files that are committed to the
// project before anything starts).
//
// # Steps
//
// Empty lines and lines that begin with "#" say nothing. A word in capitals below stands for an argument: TEXT is in
// quotes as in Go, N a number, DURATION as "16m", USER one of maya, sam and kim. A step that begins with
// "on HOST,HOST: " is for those hosts alone. Runner and edge start before the first step that is not about starting or
// killing them. Everything that waits does so by looking again and again, until its patience ends.
//
// People:
//
//	as USER: ask TEXT                     /ask in the channel; in the thread:
//	as USER: ask TEXT in thread
//	as USER: say TEXT                     a message: with "@bot" in it in the channel, else in the thread
//	as USER: say TEXT in thread
//	as USER: say TEXT in channel
//	as USER: edit TEXT                    of the message said last
//	as USER: press BUTTON                 approve, deny, stop or details, on the newest message that has it
//	as USER: press deny because TEXT      by the form of "Deny and say why"
//	as USER: stop                         /stop in the thread
//	as USER: usage                        /usage
//	as USER: budget SCOPE UNIT AMOUNT     /workspace budget: "workspace" or "user", "tokens" or "dollars"
//	as USER: complete TEXT                asks for the choices of /resume
//	as USER: resume TEXT                  /resume in the channel, of the first choice for TEXT; in the thread:
//	as USER: resume TEXT in thread
//	as USER: open thread TEXT             a thread of their own, which is "the thread" from then on
//	delete thread                         maya does these; the thread is the newest one
//	lock thread
//	archive thread
//	delete anchor
//	race: REST                            steps of people at the same time: "as maya: … | as sam: …"
//
// The model follows what stands in the question (package playground/scripted):
//
//	model: REST                           one line of the script of the next ask or say, as "!tool bash {…}"
//
// What goes wrong:
//
//	kill edge                             at once, as by kill -9
//	kill edge WHEN WHAT POINT             the next edge that starts dies there: "before commit admit" (docs/protocol.md)
//	stall edge WHEN WHAT POINT DURATION   the next edge that starts hangs there
//	wait edge down                        until it died
//	wait card due                         until the second that the newest card shows: its deadline is within it
//	wait card overdue                     until that second has passed
//	start edge
//	kill runner                           at once; before anything has started: there is none
//	start runner
//	start second runner                   another one, with a journal of its own
//	advance DURATION                      turns the clock of edge and Discord forward (linked)
//	discord: REST                         a fault: "STATUS next N", "cut next N", "delay MS next N", and after that, in
//	                                      any order, "after" (it happens, the answer is lost), "bare", "global",
//	                                      "retry S", "code C", "METHOD /path/*"; "drop event N", "duplicate event N", "clear"
//
// What must be seen. "expect" waits for it; what was expected at the end of a file is looked at once more when nothing
// is left to be done, and each request that Discord got must have fitted its description.
//
//	expect anchor contains TEXT           the newest anchor, in any state
//	expect anchor final contains TEXT     the newest anchor shows an ended turn
//	expect thread contains TEXT           some message of the thread; of the channel:
//	expect channel contains TEXT
//	expect nothing contains TEXT          no message anywhere
//	expect N messages contain TEXT
//	expect messages N                     of the bot, those that only one person sees left out
//	expect threads N
//	expect final edits N                  accepted edits of the newest anchor that show the end
//	expect card STATE                     the newest approval card: pending, approved, denied, expired, cancelled, decided
//	expect told TEXT                      what the person's last command or press was answered with
//	expect one told TEXT                  exactly one answer of the race
//	expect choice TEXT                    the last choices hold it
//	expect job done                       the newest job
//	expect job running
//	expect job unanswered REASON
//	expect jobs N
//	expect model calls N                  requests that reached the provider
//	expect tool TOOL ran N                bash: lines "bash" in files named "ran" of the project and its worktrees (a
//	                                      command counts itself by "echo bash >> ran"); others: starts in the event log
//	expect origin has N pushes            to the bare repository that the project came from
//	expect event NAME                     in the workspace's event log
//	expect events NAME N
//	expect restarts N                     of the newest job
package rig
