package subprocess

import "syscall"

func setPdeathsig(attr *syscall.SysProcAttr, orphaned syscall.Signal) { attr.Pdeathsig = orphaned }

func watchParent(int, syscall.Signal) (stop func(), err error) { return func() {}, nil }
