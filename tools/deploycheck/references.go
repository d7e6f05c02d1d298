package deploycheck

import (
	"slices"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// references finds names of things that do not exist. The API server accepts such names, and they
// have no effect.
type references struct {
	*findings
	all objects
}

func (r references) check() {
	for _, o := range r.all {
		switch o := o.(type) {
		case *corev1.Service:
			pods := r.selected("service "+o.Name, labels.SelectorFromSet(o.Spec.Selector))
			for _, p := range o.Spec.Ports {
				r.checkPort("service "+o.Name, p.TargetPort, pods)
			}
		case *corev1.ServiceAccount:
			early := o.Annotations["helm.sh/hook"] != ""
			if !slices.ContainsFunc(
				r.all.pods(),
				func(p pod) bool { return p.template.Spec.ServiceAccountName == o.Name && p.server != early },
			) {
				r.add("account %s is of no pod, or is made after it", o.Name)
			}
		case *networkingv1.Ingress:
			for _, rule := range o.Spec.Rules {
				for _, path := range rule.HTTP.Paths {
					to := path.Backend.Service
					r.checkService(
						"ingress "+o.Name,
						intstr.FromString(to.Port.Name),
						func(s *corev1.Service) bool { return s.Name == to.Name },
					)
				}
			}
		case *gatewayv1.HTTPRoute:
			for _, rule := range o.Spec.Rules {
				for _, to := range rule.BackendRefs {
					r.checkService(
						"route "+o.Name,
						intstr.FromInt32(*to.Port),
						func(s *corev1.Service) bool { return s.Name == string(to.Name) },
					)
				}
			}
		case *policyv1.PodDisruptionBudget:
			r.selected("budget "+o.Name, labels.SelectorFromSet(o.Spec.Selector.MatchLabels))
			if policy := o.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
				r.add("budget %s lets pods go that are not ready, with usage that is not recorded yet", o.Name)
			}
		case *networkingv1.NetworkPolicy:
			r.checkPolicy(o)
		case *autoscalingv2.HorizontalPodAutoscaler:
			r.checkAutoscaler(o)
		case *monitoringv1.ServiceMonitor:
			of := labels.SelectorFromSet(o.Spec.Selector.MatchLabels)
			for _, endpoint := range o.Spec.Endpoints {
				r.checkService(
					"monitor "+o.Name,
					intstr.FromString(endpoint.Port),
					func(s *corev1.Service) bool { return of.Matches(labels.Set(s.Labels)) },
				)
			}
		}
	}
}

// checkService checks that a matching service has the port.
func (r references) checkService(what string, port intstr.IntOrString, matches func(*corev1.Service) bool) {
	if !slices.ContainsFunc(r.all, func(other runtime.Object) bool {
		s, ok := other.(*corev1.Service)
		has := func(p corev1.ServicePort) bool { return p.Name == port.StrVal || p.Port == port.IntVal }
		return ok && matches(s) && slices.ContainsFunc(s.Spec.Ports, has)
	}) {
		r.add("%s names port %v, which none of its services has", what, port.String())
	}
}

func (r references) checkAutoscaler(o *autoscalingv2.HorizontalPodAutoscaler) {
	if !slices.ContainsFunc(r.all, func(other runtime.Object) bool {
		d, ok := other.(*appsv1.Deployment)
		return ok && d.Name == o.Spec.ScaleTargetRef.Name && o.Spec.ScaleTargetRef.Kind == "Deployment"
	}) {
		r.add("autoscaler %s scales %s, which does not exist", o.Name, o.Spec.ScaleTargetRef.Name)
	}
}

// selected returns the pods that a selector matches. They must be of one kind.
func (r references) selected(what string, s labels.Selector) (found []pod) {
	for _, p := range r.all.pods() {
		if !s.Empty() && s.Matches(labels.Set(p.template.Labels)) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		r.add("%s selects %d kinds of pods by %q: want one", what, len(found), s)
	}
	return found
}

// checkPort checks that each of the pods has the port.
func (f *findings) checkPort(what string, port intstr.IntOrString, pods []pod) {
	for _, p := range pods {
		if !slices.ContainsFunc(p.template.Spec.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(has corev1.ContainerPort) bool {
				return port.StrVal != "" && has.Name == port.StrVal ||
					port.StrVal == "" && has.ContainerPort == port.IntVal
			})
		}) {
			f.add("%s names port %v, which %s does not have", what, port.String(), p.of)
		}
	}
}

func (r references) checkPolicy(o *networkingv1.NetworkPolicy) {
	what := "network policy " + o.Name
	pods := r.selected(what, labels.SelectorFromSet(o.Spec.PodSelector.MatchLabels))
	for _, rule := range o.Spec.Ingress {
		for _, p := range rule.Ports {
			r.checkPort(what, *p.Port, pods)
		}
	}
	if !slices.Equal(o.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) {
		r.add("%s is for %v: want both directions", what, o.Spec.PolicyTypes)
	}
}
