// Package checkpoint reads and writes the files by which a job and sluiced communicate,
// and the checkpoints.
//
// Each job has two folders, both named by the job's token, on a file system that the
// nodes share. Each side writes only in its own:
//
//	<outbox>/<token>/request.json     sluiced: save now, then wait (absent = continue training)
//	<outbox>/<token>/target.json      sluiced: incarnation, split and checkpoint of the next run
//	<jobs>/<token>/script             the user's script as submitted
//	<jobs>/<token>/runner.json        the runner: state, heartbeat, answer to the request
//	<jobs>/<token>/request.json       the runner: the request, passed on while it is valid
//	<jobs>/<token>/progress.jsonl     the program: one JSON line an epoch (or every few steps)
//	<jobs>/<token>/gauge/N.NODE.json  sluice-nvml on each node: how run N's GPUs are there
//	<jobs>/<token>/checkpoints/NAME/  the program: files, then manifest.json last of all
//
// The program uses only its own folder: the runner passes the request on, and removes it
// when sluiced withdraws it or has not answered for too long.
//
// Every JSON file is small and replaced by atomic rename. The daemon reads only small,
// bounded, regular files of the expected owner and never opens a checkpoint. The runner,
// which is the user, verifies checkpoints on the node.
package checkpoint
