package deploycheck

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// podCheck checks this project's rules for each pod: the Pod Security Standard "restricted", and
// more.
type podCheck struct {
	*findings
	pod
	docs string
}

func (p podCheck) check() {
	spec := &p.template.Spec
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		p.add("%v", err)
		return
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(restricted, &p.template.ObjectMeta, spec) {
		if !r.Allowed {
			p.add("%s is not restricted: %s (%s)", p.of, r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		p.add("%s: services' names become variables: want enableServiceLinks: false", p.of)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		p.add("%s has a token of Kubernetes: want automountServiceAccountToken: false", p.of)
	}
	for i := range spec.Containers {
		p.checkContainer(&spec.Containers[i])
	}
	p.checkSecrets()
}

func (p podCheck) checkContainer(c *corev1.Container) {
	if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		p.add("%s may write to its image: want readOnlyRootFilesystem: true", p.of)
	}
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() ||
		c.Resources.Requests.Memory().IsZero() {
		p.add("%s: want requests of CPU and memory, and a limit of memory", p.of)
	}
	set := map[string]string{}
	for _, e := range c.Env {
		p.checkVariable(p.of, e.Name, p.docs)
		if _, twice := set[e.Name]; twice {
			p.add("%s sets %s twice", p.of, e.Name)
		}
		set[e.Name] = e.Value
		if strings.HasSuffix(e.Name, "_URL") && strings.Contains(e.Value, "@") {
			p.add("%s has a secret in %s: want a file", p.of, e.Name)
		}
	}
	if !p.server {
		return
	}
	p.checkProbes(c)
	p.checkMemory(set["GOMEMLIMIT"], c.Resources.Limits.Memory())
	p.checkStop(set)
}

func (p podCheck) checkProbes(c *corev1.Container) {
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe,
		"readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			p.add("%s has no %s probe", p.of, name)
			continue
		}
		if want := map[bool]string{true: "/livez", false: "/readyz"}[name == "liveness"]; probe.HTTPGet.Path != want {
			p.add("%s: the %s probe asks %s: want %s", p.of, name, probe.HTTPGet.Path, want)
		}
		p.checkPort(p.of+": the "+name+" probe", probe.HTTPGet.Port, []pod{p.pod})
	}
}

// checkMemory requires Go's limit to be between 70 % and 95 % of the container's.
func (p podCheck) checkMemory(limit string, container *resource.Quantity) {
	bytes, err := resource.ParseQuantity(strings.TrimSuffix(limit, "B"))
	if err != nil {
		p.add("%s: GOMEMLIMIT is %q: %v", p.of, limit, err)
		return
	}
	if share := float64(bytes.Value()) / float64(container.Value()); share < 0.7 || share > 0.95 {
		p.add("%s: GOMEMLIMIT is %.0f %% of the limit of memory: want nine tenths", p.of, 100*share)
	}
}

// checkStop requires the pod to have as much time as the server takes to stop.
func (p podCheck) checkStop(set map[string]string) {
	drain, err1 := time.ParseDuration(set["PETSTORE_DRAIN_DELAY"])
	stop, err2 := time.ParseDuration(set["PETSTORE_STOP_TIMEOUT"])
	if err1 != nil || err2 != nil {
		p.add("%s: PETSTORE_DRAIN_DELAY or PETSTORE_STOP_TIMEOUT is no duration", p.of)
		return
	}
	grace := time.Duration(*p.template.Spec.TerminationGracePeriodSeconds) * time.Second
	if grace < drain+stop+5*time.Second {
		p.add("%s is killed after %v: the server takes up to %v, and some seconds more", p.of, grace, drain+stop)
	}
	// For some seconds after a pod was told to stop, it still gets new connections.
	if drain < 5*time.Second {
		p.add("%s: PETSTORE_DRAIN_DELAY is %v: want 5s or more", p.of, drain)
	}
}

// checkSecrets checks that each file named by a variable exists, and that others may not read it.
func (p podCheck) checkSecrets() {
	files := map[string]bool{}
	for _, v := range p.template.Spec.Volumes {
		if v.Projected == nil {
			continue // the volume is the operator's own
		} else if mode := v.Projected.DefaultMode; mode == nil || *mode&0o007 != 0 {
			p.add("%s: everybody may read the volume %s: want mode 0440", p.of, v.Name)
		}
		for _, m := range p.template.Spec.Containers[0].VolumeMounts {
			for _, s := range v.Projected.Sources {
				for _, i := range s.Secret.Items {
					files[path.Join(m.MountPath, i.Path)] = m.Name == v.Name
					files[path.Join(m.MountPath, path.Dir(i.Path))] = m.Name == v.Name
				}
			}
		}
	}
	for _, e := range p.template.Spec.Containers[0].Env {
		if regexp.MustCompile(`_FILE$|^PGSSLROOTCERT$|^SSL_CERT_DIR$`).MatchString(e.Name) && !files[e.Value] {
			p.add("%s: %s is %s, which is not mounted", p.of, e.Name, strconv.Quote(e.Value))
		}
	}
}
