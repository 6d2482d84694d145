package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// Channels are where messages go.
type Channels struct {
	Exec    []string // the site's program with its arguments; empty = none
	Webhook string   // the site's; "" = none
	Secret  []byte   // by which messages to it are signed
	// Mailer returns by what mails are sent; nil = none are.
	Mailer func(context.Context) (Mailer, error)
	// Allows returns why users' messages may not go to a URL; nil = they may.
	Allows func(url string) error
	// Hook reads the URL of a job's user.
	Hook func(token string, uid uint32) (string, error)
	// Client posts. It MUST NOT follow redirects: see NewClient.
	Client Poster
}

// errPermanent: another attempt would fail as well.
var errPermanent = errors.New("not tried again")

func permanent(err error) bool { return errors.Is(err, errPermanent) }

func (c *Channels) deliver(ctx context.Context, i *item, now time.Time) error {
	switch {
	case i.channel == Exec:
		return c.run(ctx, i.send.Message)
	case i.channel == Mail:
		return c.mail(ctx, i)
	case i.site:
		return c.post(ctx, c.Webhook, c.Secret, i.send.Message, now)
	}
	return c.postForUser(ctx, i, now)
}

// run gives the message to the site's program.
func (c *Channels) run(ctx context.Context, m message.Message) error {
	if len(c.Exec) == 0 {
		return fmt.Errorf("[notify] exec is not set any more: %w", errPermanent)
	}
	if err := trusted(c.Exec[0]); err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return start(ctx, c.Exec, append(body, '\n'), nil)
}

// trusted refuses a program that others than its owner may change: it runs as sluiced's account.
func trusted(program string) error {
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", program)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be changed by others than its owner (mode %04o); type: chmod go-w %s", program, info.Mode().Perm(), program)
	case is && stat.Uid != 0 && stat.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s belongs to user %d; it must belong to root or to sluiced's account", program, stat.Uid)
	}
	return nil
}

// Bounds of a program.
const (
	maxComplaint = 400 // bytes kept of what it prints
	drainFor     = 2 * time.Second
)

// start runs a program in a process group of its own, which is killed when ctx ends. Its environment is small.
func start(ctx context.Context, argv []string, stdin []byte, environ []string) error {
	out := &head{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = "/", bytes.NewReader(stdin), out, out, drainFor
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well, but left a child that holds its output
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return nil
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s had not ended after %v", argv[0], attemptFor)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such program", argv[0])
	}
	return fmt.Errorf("%s: %w%s", argv[0], err, out.said())
}

// head keeps the first bytes.
type head struct{ bytes.Buffer }

// Write keeps what fits and takes all.
func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxComplaint-min(maxComplaint, h.Len()))])
	return len(p), nil
}

func (h *head) said() string {
	text := strings.Join(strings.Fields(h.String()), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}
