// @ts-check
/** Writes records by hand, one request through all gates at a time. Test equipment. */

export const EPOCH = '2026-02-11T10:42:07Z';
export const EPOCH_US = Date.parse(EPOCH) * 1000;
export const HASH = 'nginx-5869d7778c';
export const NODES = ['node-1', 'node-2', 'node-3'];
export const MUTATING = [
  'NamespaceLifecycle',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'RuntimeClass',
  'DefaultIngressClass',
  'MutatingAdmissionWebhook',
];
const VALIDATING = [
  'LimitRanger',
  'ServiceAccount',
  'PodSecurity',
  'Priority',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

const GROUPS = { apps: 'apps', 'discovery.k8s.io': 'discovery.k8s.io' };

export class Maker {
  constructor() {
    /** @type {any[]} */ this.records = [];
    this.t = 0;
    this.rev = 800;
    this.uid = 0;
  }

  tell(kind, fields, span) {
    const seq = this.records.length + 1;
    const own = kind === 'request' || kind === 'work' ? seq : span || 0;
    this.records.push({ seq, t: Math.round(this.t), kind, span: own, ...fields });
    return seq;
  }

  wait(us) {
    this.t += us;
    return this;
  }

  stamp() {
    return new Date((EPOCH_US + this.t) / 1000).toISOString().replace(/\.\d+Z/, 'Z');
  }

  newUid() {
    this.uid += 1;
    return `00000000-0000-4000-8000-${String(this.uid).padStart(12, '0')}`;
  }

  write(span, op, resource, object, sub = '', to = []) {
    this.rev += 1;
    object.metadata.resourceVersion = String(this.rev);
    const { namespace = '', name } = object.metadata;
    this.tell(
      'write',
      {
        rev: this.rev,
        op,
        resource,
        namespace,
        name,
        prev: 0,
        subresource: sub,
        object: structuredClone(object),
      },
      span,
    );
    const { rev } = this;
    if (to.length) this.tell('watch', { rev, type: op, resource, to, outside: 0 }, 0);
    return rev;
  }

  // -- one request through all gates -----------------------------------------------------------

  request(about, store) {
    const {
      parent = 0,
      client,
      outside = false,
      verb,
      resource,
      sub = '',
      ns = '',
      name = '',
    } = about;
    const [plural, ...group] = resource.split('.');
    const base = group.length
      ? `/apis/${GROUPS[group.join('.')] || group.join('.')}/v1`
      : '/api/v1';
    const path =
      `${base}${ns ? `/namespaces/${ns}` : ''}/${plural}` +
      `${(name && verb !== 'create') || sub ? `/${name}` : ''}${sub ? `/${sub}` : ''}`;
    const span = this.tell('request', {
      parent,
      client,
      outside,
      verb,
      path,
      resource,
      subresource: sub,
      namespace: ns,
      name,
    });
    const gate = (gateName, verdict, detail, cost) => {
      this.tell('gate', { gate: gateName, verdict, detail }, span);
      this.wait(cost);
    };
    this.wait(150);
    gate('authentication', 'allow', this.who(about), 40);
    gate('audit', 'allow', { word: 'recorded' }, 10);
    gate('flowcontrol', 'allow', { word: about.flow || 'workload-high' }, 15);
    if (about.refused) {
      gate('authorization', 'deny', about.refused, 50);
      this.tell(
        'response',
        {
          code: 403,
          reason: 'Forbidden',
          message: about.refused.message,
          rev: 0,
        },
        span,
      );
      this.wait(60);
      return { span, rev: 0 };
    }
    gate('authorization', 'allow', this.allowed(about), 50);
    gate(
      'routing',
      'allow',
      {
        word: 'kube-apiserver',
        server: 'kube-apiserver',
        chain: ['aggregator', 'kube-apiserver', 'extensions'],
      },
      10,
    );
    gate(
      'decode',
      about.defaults ? 'change' : 'allow',
      about.defaults ? { word: `${about.defaults.length} defaults set`, ops: about.defaults } : {},
      90,
    );
    this.plugins('mutating', MUTATING, span, about);
    if (about.stop) return { span, rev: 0 };
    gate('mutating', about.changes ? 'change' : 'allow', {}, 20);
    gate(
      'prepare',
      'allow',
      verb === 'create' ? { word: 'named', why: `uid and creationTimestamp set` } : {},
      30,
    );
    gate('validation', 'allow', { word: 'valid' }, 80);
    this.plugins('validating', VALIDATING, span, about);
    gate('validating', 'allow', {}, 20);
    this.wait(900);
    const rev = store ? store(span) : 0;
    gate('etcd', 'allow', { word: String(rev), rev }, 0);
    this.tell(
      'response',
      { code: verb === 'create' ? 201 : 200, reason: '', message: '', rev },
      span,
    );
    this.wait(60);
    return { span, rev };
  }

  plugins(phase, names, span, about) {
    for (const plugin of names) {
      const change = phase === 'mutating' && about.changes && about.changes[plugin];
      const why = (about.whys || {})[plugin] || '';
      this.tell(
        'plugin',
        {
          phase,
          plugin,
          verdict: change ? 'change' : why || plugin === 'NamespaceLifecycle' ? 'allow' : 'skip',
          why: change
            ? change.why
            : why || (plugin === 'NamespaceLifecycle' ? 'default is active' : 'does not apply'),
          ops: change ? change.ops : [],
        },
        span,
      );
      this.wait(35);
      if (about.stop === plugin && phase === 'mutating') return;
    }
  }

  who(about) {
    const user = about.user;
    const tries = user.cert
      ? [
          {
            name: 'x509',
            verdict: 'allow',
            why: `CN=${user.name}, O=${user.groups[0]}`,
            source: 'staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go',
          },
        ]
      : [
          { name: 'x509', verdict: 'skip', why: 'no client certificate' },
          { name: 'service account token', verdict: 'allow', why: 'signed by this cluster' },
        ];
    return {
      word: 'known',
      why: `user ${user.name}, groups ${user.groups.join(', ')}`,
      user: { name: user.name, groups: user.groups },
      tries,
    };
  }

  allowed(about) {
    const name = about.user.name.split(':').pop();
    const rule = {
      name: 'RBAC',
      verdict: 'allow',
      why: `ClusterRoleBinding system:controller:${name}`,
      source: 'plugin/pkg/auth/authorizer/rbac/rbac.go',
    };
    return {
      word: 'allowed',
      why: `ClusterRoleBinding system:controller:${name}`,
      tries: [{ name: 'Node', verdict: 'noop', why: 'not a node' }, rule],
      source: 'plugin/pkg/auth/authorizer/rbac/rbac.go Authorize',
    };
  }
}

export const ADMIN = {
  name: 'kubernetes-admin',
  groups: ['kubeadm:cluster-admins', 'system:authenticated'],
  cert: true,
};
export const STUDENT = {
  name: 'student',
  groups: ['students', 'system:authenticated'],
  cert: true,
};
export const controller = (name) => ({
  name: `system:serviceaccount:kube-system:${name}-controller`,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
});
export const SCHEDULER = {
  name: 'system:kube-scheduler',
  groups: ['system:authenticated'],
  cert: true,
};
export const kubelet = (node) => ({
  name: `system:node:${node}`,
  groups: ['system:nodes', 'system:authenticated'],
  cert: true,
});
