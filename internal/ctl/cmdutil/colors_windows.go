package cmdutil

import (
	"os"

	"golang.org/x/sys/windows"
)

// understandsEscapes makes a console of Windows take escape sequences for colors.
func understandsEscapes(f *os.File) bool {
	console := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// isNull tells whether the file is closed. NUL can't be told from other devices.
func isNull(f *os.File) bool {
	_, err := f.Stat()
	return err != nil
}
