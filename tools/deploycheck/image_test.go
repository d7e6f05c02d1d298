package deploycheck

import (
	"archive/tar"
	"bytes"
	"maps"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// openImage reads an image that make image has built.
func openImage(t *testing.T, name string) (v1.Config, map[string]file) {
	t.Helper()
	image, err := tarball.ImageFromPath(filepath.Join(root, "bin", "image", name+".tar"), nil)
	if err != nil {
		t.Fatalf("run make image first: %v", err)
	}
	config, files, err := open(image)
	if err != nil {
		t.Fatal(err)
	}
	return config, files
}

func TestImages(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		config, files := openImage(t, p.name)
		fine(t, checkImage(config, files, p))
	}
}

func TestImageMistakes(t *testing.T) {
	t.Parallel()
	config, files := openImage(t, "petstore")
	expect(t, checkImage(config, files, programs[1]), "it has no /petstorectl")
	for want, change := range map[string]func(*v1.Config){
		`user is ""`:              func(c *v1.Config) { c.User = "" },
		`user is "0:0"`:           func(c *v1.Config) { c.User = "0:0" },
		`user is "petstore"`:      func(c *v1.Config) { c.User = "petstore" },
		`it runs ["/bin/sh"]`:     func(c *v1.Config) { c.Entrypoint = []string{"/bin/sh"} },
		`the health check is []`:  func(c *v1.Config) { c.Healthcheck = nil },
		`it has volumes: [/data]`: func(c *v1.Config) { c.Volumes = map[string]struct{}{"/data": {}} },
	} {
		wrong := *config.DeepCopy()
		change(&wrong)
		expect(t, checkImage(wrong, files, programs[0]), want)
	}
	dynamic := readFile(t, "/bin/sh")
	for want, f := range map[string]file{
		`it has bin/sh`:          {&tar.Header{Name: "bin/sh", Mode: 0o755}, dynamic},
		`petstore is -rwxrwxrwx`: {&tar.Header{Name: "petstore", Mode: 0o777}, dynamic},
		`petstore is urwxr-xr-x`: {&tar.Header{Name: "petstore", Mode: 0o4755}, dynamic},
		`of 65532:65532`: {&tar.Header{Name: "petstore", Mode: 0o755, Uid: 65532, Gid: 65532},
			dynamic},
		`/petstore is not static`: {&tar.Header{Name: "petstore", Mode: 0o755}, dynamic},
		`/petstore: bad magic`: {&tar.Header{Name: "petstore", Mode: 0o755},
			bytes.Repeat([]byte("#!/bin/sh\n"), 9)},
		`/petstore has mode 644`: {&tar.Header{Name: "petstore", Mode: 0o644}, dynamic},
		`has 0 certificates`:     {&tar.Header{Name: certificates, Mode: 0o644}, []byte("none")},
		`does not name the user`: {&tar.Header{Name: passwd, Mode: 0o644},
			[]byte("root:x:0:0::/:/bin/sh\n")},
		`THIRD_PARTY_LICENSES.txt is missing`: {&tar.Header{Name: thirdParty, Mode: 0o644}, nil},
		`bytes: want at most 43000`:           {&tar.Header{Name: passwd, Mode: 0o644}, make([]byte, maxImage)},
	} {
		wrong := maps.Clone(files)
		wrong[f.header.Name] = f
		expect(t, checkImage(config, wrong, programs[0]), want)
	}
}
