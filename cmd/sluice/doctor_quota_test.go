package main

import (
	"testing"
)

func TestGroupQuotas(t *testing.T) {
	const mounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
31 22 8:2 / /shared rw,relatime shared:2 - xfs /dev/sdb1 rw,attr2,inode64,usrquota,grpquota
32 31 8:3 / /shared/plain rw,relatime - ext4 /dev/sdc1 rw
33 22 8:4 / /my\040disk rw,relatime,grpjquota=aquota.group,jqfmt=vfsv1 - ext4 /dev/sdd1 rw
34 22 0:44 / /nfs rw - nfs4 server:/export rw,vers=4.2
rubbish
35 22 0:45 / /broken rw - tmpfs
`
	for folder, want := range map[string]string{
		"/shared/sluice/jobs": "grpquota", "/shared": "grpquota", "/sharedness/jobs": "", "/shared/plain/jobs": "",
		"/my disk/jobs": "grpjquota=aquota.group", "/nfs/jobs": "", "/var/jobs": "", "/broken/jobs": "",
	} {
		if got := groupQuotas(mounts, folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	owner := account{name: "sluice", group: "sluice"}
	if got := examineQuota(mounts, "/shared/sluice/jobs", owner); len(got) != 1 || got[0].Verdict == fine {
		t.Errorf("%+v", got)
	}
	if got := examineQuota(mounts, "/nfs/jobs", owner); got != nil {
		t.Errorf("%+v", got)
	}
}
