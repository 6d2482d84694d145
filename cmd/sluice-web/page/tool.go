package page

import (
	"context"
	"io"
)

// Tool runs a program in the viewer's name, with words that no shell reads.
type Tool interface {
	// Sluice runs sluice with these arguments and returns what it wrote, at most so many bytes of
	// each; in may be nil, dir "" = the home directory. The error is that of its end.
	Sluice(ctx context.Context, dir string, in io.Reader, most int, args ...string) (out, errs []byte, err error)
	// History writes sacct's history of a time range, in the form that "sluice whatif" reads, to a
	// file, and returns its path. The caller removes it.
	History(ctx context.Context, since, until string) (file string, err error)
}
