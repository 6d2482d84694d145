package checkpoint

import "fmt"

// The names of the files in a job's two folders and in a checkpoint.
const (
	RequestFile  = "request.json"
	TargetFile   = "target.json"
	RunnerFile   = "runner.json"
	ProgressFile = "progress.jsonl"
	ManifestFile = "manifest.json"
	Checkpoints  = "checkpoints" // the folder of all of a job's checkpoints
	Script       = "script"
	Hook         = "hook" // the URL that messages about the job are posted to
)

// Limits of what is read from the other side, in bytes.
const (
	maxSmallFile   = 64 << 10  // request, target, runner
	maxChunk       = 256 << 10 // of progress.jsonl in one call
	maxLine        = 4 << 10
	maxLines       = 2000
	maxManifest    = 16 << 20
	maxSequence    = 99_999_999
	maxCheckpoints = 10_000 // names looked at in the checkpoints folder
)

// Name returns the directory name of the checkpoint with this sequence number.
func Name(sequence int) string { return fmt.Sprintf("%08d", sequence) }
