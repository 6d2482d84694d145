package command

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestCharging: slurmdbd is asked for these users in this cluster if slurmctld says that there is one, and only then. Its
// answer is as recorded on Slurm 22.05. What slurmctld does not say is not guessed.
func TestCharging(t *testing.T) {
	const config = "ClusterName = c\nAccountingStorageType = accounting_storage/slurmdbd\nAccountingStorageEnforce = "
	const partition = "PartitionName=gpu State=UP Default=YES AllowGroups=lab,staff\\n"
	const answer = "games|theory|bio|gpu|normal|\ngames|theory|theory||high,normal|high\nnia|||||\n"
	members := []slurm.Member{{User: "games", Account: "bio", Partition: "gpu", QOS: []string{"normal"}}, {User: "games", Account: "theory", Default: true, QOS: []string{"high", "normal"}, DefaultQOS: "high"}}
	partitions := []slurm.Partition{{Name: "gpu", Up: true, Default: true, AllowGroups: []string{"lab", "staff"}}}
	for name, c := range map[string]struct {
		config, answer string // of scontrol and of sacctmgr
		want           slurm.Charging
		wrong          error
		asked          int
	}{
		"enforced":              {config + "associations,limits,qos", "cat <<E\n" + answer + "E", slurm.Charging{Database: true, Enforced: true, QOS: true, Members: members, Partitions: partitions}, nil, 3},
		"without QOS":           {config + "associations", "", slurm.Charging{Database: true, Enforced: true, Partitions: partitions}, nil, 3},
		"not enforced":          {config + "none", "cat <<E\n" + answer + "E", slurm.Charging{Database: true, Members: members, Partitions: partitions}, nil, 3},
		"only what is recorded": {config + "nojobs,nosteps", "", slurm.Charging{Database: true, Partitions: partitions}, nil, 3},
		"no slurmdbd":           {"ClusterName = c\nAccountingStorageType = accounting_storage/none\nAccountingStorageEnforce = none", "exit 1", slurm.Charging{Partitions: partitions}, nil, 2},
		"no slurmdbd, 24.11":    {"ClusterName = c\nAccountingStorageType = (null)\nAccountingStorageEnforce = none", "exit 1", slurm.Charging{Partitions: partitions}, nil, 2},
		"half an answer":        {"ClusterName = c\nAccountingStorageEnforce = none", "exit 1", slurm.Charging{}, slurm.ErrGarbage, 1},
		"a line cut short":      {config + "qos", "printf 'games|theory|bi'", slurm.Charging{}, slurm.ErrGarbage, 3},
		"slurmdbd is down":      {config + "qos", "echo 'sacctmgr: error: Problem talking to the database: Connection refused' >&2; exit 1", slurm.Charging{}, slurm.ErrDatabaseDown, 3},
		"slurmdbd hangs":        {config + "qos", "sleep 60", slurm.Charging{}, slurm.ErrDatabaseDown, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStubs(t)
			s.set("scontrol", "case \"$*\" in\n*config*) printf '%s\\n' '"+c.config+"' ;;\n*partition*) printf '"+partition+"' ;;\nesac")
			s.set("sacctmgr", c.answer)
			got, err := s.client(Config{Timeout: 2 * time.Second}).Charging(t.Context(), "games", "nia")
			if !errors.Is(err, c.wrong) || err != nil && c.wrong == nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, got, c.want)
			}
			calls := s.calls()
			if len(calls) != c.asked {
				t.Errorf("%d calls, want %d: %q", len(calls), c.asked, calls)
			}
			if want := "sacctmgr [-n] [-P] [show] [user] [withassoc] [name=games,nia] [cluster=c] [format=User,DefaultAccount,Account,Partition,QOS,DefaultQOS]"; c.asked == 3 && !strings.Contains(calls[2], want) {
				t.Errorf("asked %q", calls[2])
			}
		})
	}
}
