// Package checkpoint knows the files through which a job and sluiced speak, and
// the checkpoints themselves.
//
// Two folders per job, both named by the job's token, on a file system the nodes
// share. Each side writes in its own only:
//
//	<outbox>/<token>/request.json     sluiced: save now, then wait (absent = train on)
//	<outbox>/<token>/target.json      sluiced: incarnation, split and checkpoint of the next run
//	<jobs>/<token>/script             the user's script as submitted
//	<jobs>/<token>/runner.json        the runner: state, heartbeat, answer to the request
//	<jobs>/<token>/request.json       the runner: the request, handed on while it holds
//	<jobs>/<token>/progress.jsonl     the program: one JSON line an epoch (or every few steps)
//	<jobs>/<token>/gauge/N.NODE.json  sluice-nvml on each node: how run N's GPUs are there
//	<jobs>/<token>/checkpoints/NAME/  the program: files, then manifest.json last of all
//
// The program knows only its own folder: the runner hands the request on, and
// takes it back when sluiced withdraws it or has been silent for too long.
//
// Every JSON file is replaced by atomic rename and small. The daemon reads only
// small, bounded, owner-checked regular files and never opens a checkpoint. The
// runner, which is the user, verifies checkpoints on the node.
package checkpoint
