package deliver

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/message"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// Mailer is by what Slurm sends mails, as scontrol show config says.
type Mailer struct {
	Program string // MailProg, absolute; "" = Slurm sends none
	Domain  string // MailDomain; "" = none
	Cluster string // ClusterName
}

// mail sends a message as slurmctld would: MailProg -s SUBJECT RECEIVER, with Slurm's environment. The text is
// on the program's standard input; Slurm's own mails have none.
func (c *Channels) mail(ctx context.Context, i *item) error {
	if c.Mailer == nil {
		return fmt.Errorf("mails are not sent any more: %w", errPermanent)
	}
	m, err := c.Mailer(ctx)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(m.Program) {
		return fmt.Errorf("there is no MailProg in slurm.conf: %w", errPermanent)
	}
	to := m.address(i.send.User.To)
	if !elastic.ValidReceiver(to) {
		return fmt.Errorf("%q is no address for a mail: %w", to, errPermanent)
	}
	return start(ctx, []string{m.Program, "-s", i.send.Subject, to}, []byte(i.send.Text), m.environment(i.send.Message))
}

// address adds the site's domain to accounts.
func (m Mailer) address(to string) string {
	if m.Domain == "" {
		return to
	}
	all := strings.Split(to, ",")
	for n, one := range all {
		if !strings.Contains(one, "@") {
			all[n] = one + "@" + strings.TrimPrefix(m.Domain, "@")
		}
	}
	return strings.Join(all, ",")
}

// environment is what slurmctld sets for MailProg, as far as sluiced knows it. Programs that format mails read
// it.
func (m Mailer) environment(v message.Message) []string {
	if v.Job == nil {
		return nil
	}
	id := strconv.FormatInt(v.Job.ID, 10)
	env := []string{
		"SLURM_CLUSTER_NAME=" + m.Cluster, "SLURM_JOB_ID=" + id, "SLURM_JOBID=" + id, "SLURM_JOB_NAME=" + v.Job.Name, "SLURM_JOB_USER=" + v.Job.User,
		"SLURM_JOB_UID=" + strconv.FormatUint(uint64(v.Job.UID), 10), "SLURM_JOB_ACCOUNT=" + v.Job.Account, "SLURM_JOB_PARTITION=" + v.Job.Partition,
		"SLURM_JOB_RESTART_COUNT=" + strconv.Itoa(v.Job.Restarts), "SLUICE_MESSAGE=" + string(v.Code),
	}
	switch v.Code {
	case message.SlurmBegan:
		env = append(env, "SLURM_JOB_MAIL_TYPE=Began", "SLURM_JOB_STATE=RUNNING", "SLURM_JOB_QUEUED_TIME="+say.SlurmTime(v.Waited))
	case message.SlurmRequeued:
		env = append(env, "SLURM_JOB_MAIL_TYPE=Requeued", "SLURM_JOB_STATE=PENDING", "SLURM_JOB_RUN_TIME="+say.SlurmTime(v.Ran))
	}
	for n, entry := range env { // a NUL cannot be passed on
		env[n] = strings.ReplaceAll(entry, "\x00", "?")
	}
	return env
}
