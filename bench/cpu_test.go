package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroupsOfProcesses(t *testing.T) {
	t.Parallel()

	const root, we = 10, 11
	all := []process{
		{pid: root, parent: 1, command: []string{"bin/conveyor", "with-services", "--only", "postgres", "--", "bin/bench"}},
		{pid: we, parent: root, command: []string{"bin/bench", "-only", "chromium"}},
		{pid: 12, parent: we, command: []string{"/tmp/of-before", "up"}},
		{pid: 13, parent: 12, command: []string{"/proc/self/exe", "confined-reader", "1"}},
		{pid: 14, parent: we, command: []string{"bin/conveyor", "worker"}},
		{pid: 15, parent: we, command: []string{"bin/bench", "-yardstick", textTemporal}},
		{pid: 16, parent: we, command: []string{"bin/conveyor", "migrate"}},
		{pid: 17, parent: root, command: []string{"/usr/lib/postgresql/17/bin/postgres", "-D", "data"}},
		{pid: 18, parent: 17, command: []string{"postgres: conveyor bench 127.0.0.1(5) idle"}},
		{pid: 19, parent: root, command: []string{"wg", "up"}},
	}
	grouped(all, root, we)
	got := map[int]string{}
	for _, p := range all {
		got[p.pid] = p.group
	}
	require.Equal(t, map[int]string{
		root: "", we: "", 12: "all roles", 13: "all roles", 14: "worker", 15: "yardstick", 16: "", 17: "postgres",
		18: "postgres", 19: "",
	}, got)
}
