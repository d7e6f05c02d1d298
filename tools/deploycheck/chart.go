package deploycheck

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// chartDir is the chart in deploy.
func chartDir(deploy string) string { return filepath.Join(deploy, "helm", "petstore") }

// checkChart lints the chart, renders it with the values, and checks what Kubernetes would get.
func checkChart(deploy, docs string, values map[string]any) []string {
	var f findings
	for _, m := range lint.RunAll(chartDir(deploy), values, "petstore").Messages {
		if m.Severity >= support.WarningSev {
			f.add("helm lint: %v", m)
		}
	}
	documents, err := render(chartDir(deploy), values)
	if err != nil {
		return append(f, err.Error())
	}
	var all objects
	for _, d := range documents {
		if object := f.decode([]byte(d)); object != nil {
			f.checkHook(object)
			all = append(all, object)
		}
	}
	references{&f, all}.check()
	for _, p := range all.pods() {
		podCheck{&f, p, docs}.check()
	}
	return f
}

// load reads the chart, and the values as its templates get them.
func load(dir string, values map[string]any) (*chart.Chart, common.Values, error) {
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	release := common.ReleaseOptions{Name: "store", Namespace: "petstore", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, values, release, nil)
	return loaded, all, err
}

// render returns the documents that helm install would send.
func render(dir string, values map[string]any) (documents []string, err error) {
	chart, all, err := load(dir, values)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if filepath.Ext(name) == ".yaml" {
			documents = slices.AppendSeq(documents, maps.Values(releaseutil.SplitManifests(text)))
		}
	}
	return documents, nil
}

// checkHook refuses an event unknown to Helm, which would then ignore the object.
func (f *findings) checkHook(object runtime.Object) {
	meta := object.(metav1.Object)
	for name, value := range meta.GetAnnotations() {
		if !strings.HasPrefix(name, "helm.sh/") {
			continue
		}
		allowed := map[string][]string{
			"helm.sh/hook":               {"pre-install", "pre-upgrade"},
			"helm.sh/hook-weight":        {"0", "-1"},
			"helm.sh/hook-delete-policy": {"before-hook-creation", "hook-succeeded"},
		}[name]
		for _, v := range strings.Split(value, ",") {
			if !slices.Contains(allowed, v) {
				f.add("%s has the annotation %s: %s", meta.GetName(), name, value)
			}
		}
	}
}

// pod is the pod template of an object.
type pod struct {
	of       string
	template corev1.PodTemplateSpec
	// server is true if the pod serves requests until it is stopped.
	server bool
}

// objects are the objects that the chart makes.
type objects []runtime.Object

func (all objects) pods() (found []pod) {
	for _, o := range all {
		switch o := o.(type) {
		case *appsv1.Deployment:
			found = append(found, pod{"deployment " + o.Name, o.Spec.Template, true})
		case *batchv1.Job:
			found = append(found, pod{"job " + o.Name, o.Spec.Template, false})
		}
	}
	return found
}
