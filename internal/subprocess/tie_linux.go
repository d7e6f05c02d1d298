package subprocess

import "syscall"

func tie(attr *syscall.SysProcAttr, orphaned syscall.Signal) { attr.Pdeathsig = orphaned }

func watch(int, syscall.Signal) (unwatch func(), err error) { return func() {}, nil }
