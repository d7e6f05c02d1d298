package deploycheck

import (
	"errors"
	"fmt"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	// registers the kinds of its group, as every import named install does
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var (
	kubernetes = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	others     = newOthers()
)

// newOthers returns a decoder of the kinds of the Prometheus operator and of the Gateway API.
func newOthers() runtime.Decoder {
	scheme := runtime.NewScheme()
	if err := errors.Join(monitoringv1.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// decode reads an object and checks it as the API server does. It returns nil for an unreadable
// object.
func (f *findings) decode(document []byte) runtime.Object {
	object, kind, err := others.Decode(document, nil, nil)
	if err == nil {
		return object
	}
	if runtime.IsNotRegisteredError(err) {
		object, kind, err = kubernetes.Decode(document, nil, nil)
	}
	var internal runtime.Object
	if err == nil {
		legacyscheme.Scheme.Default(object)
		internal, err = legacyscheme.Scheme.UnsafeConvertToVersion(
			object.DeepCopyObject(),
			runtime.InternalGroupVersioner,
		)
	}
	if err != nil {
		f.add("%v", err)
		return nil
	}
	for _, e := range validate(internal) {
		f.add("%s: %v", kind.Kind, e)
	}
	return object
}

// validate makes the checks that the API server makes on a readable object.
func validate(object runtime.Object) field.ErrorList {
	allot(object)
	switch o := object.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, corevalidation.PodValidationOptions{})
	case *batch.Job:
		return batchvalidation.ValidateJobCreate(o, batchvalidation.JobValidationOptions{RequirePrefixedLabels: true})
	case *core.Service:
		return corevalidation.ValidateServiceCreate(o)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(
			o,
			autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{},
		)
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(o)
	default:
		return field.ErrorList{
			field.NotSupported(
				field.NewPath("kind"),
				fmt.Sprintf("%T", object),
				[]string{"a kind that this package validates"},
			),
		}
	}
}

// allot gives the object what the API server gives it before the validation: its namespace, and the
// numbers, addresses and labels that are its own.
func allot(object runtime.Object) {
	object.(metav1.Object).SetNamespace("petstore")
	switch o := object.(type) {
	case *batch.Job:
		o.UID = "1"
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: "1"}}
		for name, value := range map[string]string{
			batch.LegacyJobNameLabel: o.Name, batch.JobNameLabel: o.Name, batch.LegacyControllerUidLabel: "1",
			batch.ControllerUidLabel: "1",
		} {
			o.Spec.Template.Labels[name] = value
		}
	case *core.Service:
		if o.Spec.ClusterIP == "" {
			o.Spec.ClusterIP = "10.0.0.1"
		}
		o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
		o.Spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
		single := core.IPFamilyPolicySingleStack
		o.Spec.IPFamilyPolicy = &single
		if o.Spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
			o.Spec.HealthCheckNodePort = 30000
		}
	}
}
