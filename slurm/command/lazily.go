package command

import (
	"regexp"
	"sync"
)

// lazily compiles a pattern when it is first used: the users' command starts
// often and needs few of them.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
