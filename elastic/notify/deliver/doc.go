// Package deliver sends messages beside the cycle: to a program and a webhook of the site, to users'
// webhooks, and as mails through Slurm's MailProg.
//
// The queue is in memory and bounded. A message is tried up to Attempts times with growing delays, and then
// counted as failed; one that does not fit is counted as dropped. A message may arrive twice, with the same
// ID, if its receiver took it and the answer was lost. Messages that are not sent when sluiced stops are lost:
// they are about what the journal and 'sluice history' still have.
//
// No program of a user's is ever run, and what is run gets its arguments as a list, never through a shell.
package deliver
