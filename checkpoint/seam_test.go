package checkpoint_test

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// The engine declares what it needs of the shared file system; this is it.
var _ observe.Mailbox = (*checkpoint.Mailbox)(nil)
