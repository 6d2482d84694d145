package reach

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/etc"
)

// The socket where it is, else the address; SLUICE_ADDRESS before both.
func TestDial(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nowhere := filepath.Join(dir, "none")
	for _, c := range []struct {
		socket, address, env string
		want                 string // where it goes, or what the error says
		askable              bool
	}{
		{socket, "", "", socket, true},
		{socket, "login1:6830", "", socket, true},
		{nowhere, "login1:6830", "", "login1:6830", true},
		{nowhere, "", "", nowhere, false},
		{socket, "", "login2:6830", "login2:6830", true},
		{nowhere, "login1:6830", "login2:6830", "login2:6830", true},
		{socket, "", "login2", `invalid SLUICE_ADDRESS "login2": want HOST:PORT`, true},
	} {
		t.Setenv("SLUICE_ADDRESS", c.env)
		site := etc.Default()
		site.Paths.Socket, site.Remote.Address, site.Remote.User = c.socket, c.address, "0"
		client, err := Dial(site)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = client.Where()
		}
		if strings.Contains(got, "no munge") {
			t.Skip("SKIPPED: needs munge")
		}
		if got != c.want || Askable(site) != c.askable {
			t.Errorf("%+v: %s, askable %v", c, got, Askable(site))
		}
	}
	site := etc.Default()
	site.Paths.Socket, site.Remote.User = nowhere, "no-such-account"
	os.Setenv("SLUICE_ADDRESS", "login2:6830")
	if _, err := Dial(site); err == nil || !strings.Contains(err.Error(), `[remote] user: there is no account "no-such-account" here`) {
		t.Errorf("got %v", err)
	}
}
