package main_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// withRemote makes the daemon answer over TCP as well, with the lab's own munge.
func withRemote(t *testing.T) setting {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return func(c *site.Config) {
		c.Config += fmt.Sprintf("[remote]\naddress = %q\nuser = \"slurm\"\nmunge = %q\n", l.Addr(), c.Lab.Dir+"/run/munge.sock")
	}
}

// A login node without the socket: the same configuration file, but its [paths] socket does not exist.
// Everything that users do works from there, under their own accounts.
func TestRemoteLoginNode(t *testing.T) {
	t.Parallel()
	s := play(t, withUsers(remotes), withRemote(t))
	ann, bob := remotes[0], remotes[1]
	near, err := os.ReadFile(s.Conf)
	s.must(err)
	far := s.Path("far.toml")
	s.write(far, strings.Replace(string(near), s.Socket, s.Path("nothing.sock"), 1))
	there := func(verb string, args ...string) []string { return append([]string{verb, "--config", far}, args...) }

	j := s.submit("far", ann, 30, []string{"--config", far, "--max-gpus=4"}, "--seconds", "0.2", "--save-seconds", "0.2")
	j.runsOn(4)
	id := fmt.Sprint(j.id)
	if out := s.as(bob, "sluice", there("queue")...); !strings.Contains(out, "far") || !strings.Contains(out, id) {
		t.Errorf("bob's queue:\n%s", out)
	}
	for _, args := range [][]string{there("resize", id, "--gpus", "1"), there("hold", id)} {
		if out, err := s.Run(s.ctx, bob, "sluice", args...); err == nil || !strings.Contains(err.Error(), "belongs to "+ann+", you are "+bob) {
			t.Errorf("bob %v: %s %v", args, out, err)
		}
	}
	s.as(ann, "sluice", there("resize", id, "--gpus", "2")...)
	j.runsOn(2)
	if out := s.as(ann, "sluice", there("explain", id)...); !strings.Contains(out, "its user set") {
		t.Errorf("explain:\n%s", out)
	}
	if out, _ := s.Run(s.ctx, ann, "sluice", there("doctor")...); !strings.Contains(out, "answers on 127.0.0.1:") {
		t.Errorf("doctor:\n%s", out)
	}
	log, err := os.ReadFile(s.Log)
	s.must(err)
	denial := fmt.Sprintf(`"user":%q,"from":"127.0.0.1","job":%s,"verb":"direct"`, bob, id)
	if n := strings.Count(string(log), denial); n != 2 {
		t.Errorf("%d denials in the log, want 2:\n%s", n, log)
	}
	s.cancel(j)
}
