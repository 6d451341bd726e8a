/**
 * What the server sends, for the type checker only: the records of a trace (docs/trace-format.md),
 * told apart by `kind`, and the parts of a Kubernetes object that the page looks at.
 */

/** What stands in an element; lists are flattened, false, null and '' are left out. */
type VNode = import('./views/kit/dom.js').VNode;
export type Child = VNode | string | number | boolean | null | undefined | Child[];

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What every record has. */
interface Told {
  /** 1, 2, 3, ... without gaps */
  seq: number;
  /** virtual µs since the trace's epoch */
  t: number;
  /** seq of the request or work it belongs to, 0 for none */
  span: number;
}

export type Verdict = 'allow' | 'change' | 'skip' | 'noop' | 'deny';
export type Detail = Record<string, any>;
export type Patch = { op: string; path: string; value?: Json; from?: string }[];

export interface RequestRecord extends Told {
  kind: 'request';
  parent: number;
  client: string;
  outside: boolean;
  verb: string;
  path: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
}

export interface GateRecord extends Told {
  kind: 'gate';
  gate: string;
  verdict: Verdict;
  detail: Detail | null;
}

/** Names of plugins, their verdict, and why. */
export type Passed = [names: string, verdict: Verdict, why: string][];

export interface PluginRecord extends Told {
  kind: 'plugin';
  phase: 'mutating' | 'validating';
  plugin: string;
  verdict: Verdict;
  why: string;
  ops: Patch;
  passed: Passed;
  detail: Detail;
}

export interface WriteRecord extends Told {
  kind: 'write';
  rev: number;
  op: 'create' | 'update' | 'delete';
  resource: string;
  namespace: string;
  name: string;
  prev: number;
  subresource: string;
  object: KubernetesObject;
}

export interface ResponseRecord extends Told {
  kind: 'response';
  code: number;
  reason: string;
  message: string;
  rev: number;
}

export interface StreamRecord extends Told {
  kind: 'stream';
  state: 'open' | 'end' | 'refused';
  detail: Detail;
}

export interface WatchRecord extends Told {
  kind: 'watch';
  rev: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  resource: string;
  to: string[];
  outside: number;
}

export interface ComponentRecord extends Told {
  kind: 'component';
  name: string;
  state: string;
  detail: Detail | null;
}

export interface QueueRecord extends Told {
  kind: 'queue';
  queue: string;
  op: 'add' | 'dirty' | 'get' | 'later' | 'retry' | 'done';
  key: string;
  length: number;
  rev: number;
  delay: number;
}

export interface WorkRecord extends Told {
  kind: 'work';
  component: string;
  key: string;
  revs: number[];
}

export interface DoneRecord extends Told {
  kind: 'done';
  result: 'ok' | 'retry' | 'requeue' | 'error';
  said: string;
  delay: number;
  /** what a reconcile looked up in caches; older traces do not tell */
  looked?: LookedUp[];
}

/**
 * The resource; how: the name of an index, '' for the key of an object, '*' for the whole list; how
 * often; and how many objects were found in all.
 */
export type LookedUp = [resource: string, how: string, times: number, found: number];

export interface ScheduleRecord extends Told {
  kind: 'schedule';
  phase: string;
  pod: string;
  detail: Detail;
}

export interface KubeletRecord extends Told {
  kind: 'kubelet';
  node: string;
  pod: string;
  step: string;
  state: 'begin' | 'end' | 'fail';
  detail: Detail;
}

export interface ClockRecord extends Told {
  kind: 'clock';
  mode: 'paused' | 'step' | 'run' | 'max';
  speed: number;
}

export interface ControlRecord extends Told {
  kind: 'control';
  action: string;
  detail: Detail;
}

export interface ThrottledRecord extends Told {
  kind: 'throttled';
  client: string;
  verb: string;
  path: string;
  waited: number;
}

export interface HeldRecord extends Told {
  kind: 'held';
  at: number;
  breakpoint: string;
}

export type TraceRecord =
  | RequestRecord
  | GateRecord
  | PluginRecord
  | WriteRecord
  | ResponseRecord
  | StreamRecord
  | WatchRecord
  | ComponentRecord
  | QueueRecord
  | WorkRecord
  | DoneRecord
  | ScheduleRecord
  | KubeletRecord
  | ClockRecord
  | ControlRecord
  | ThrottledRecord
  | HeldRecord;

/** What stands at the top of a recording, and in the first message of a live cluster. */
export interface Header {
  name?: string;
  cluster?: string;
  epoch?: string;
  kubernetes?: string;
  version?: string | number;
  bookmarks?: Bookmark[];
  /** the last record of the file before it was cut */
  cut?: number;
}

/** A moment that somebody gave a title. */
export interface Bookmark {
  seq: number;
  t: number;
  title: string;
}

/** What drives the cluster, and what holds it. */
export interface Clock {
  mode?: string;
  speed?: number | 'max';
  now?: number;
  frozen?: boolean;
  held?: { seq: number; kind: string; span: number; breakpoint: string } | null;
  /** why the store takes no writes; what stopped the cluster twice and is not run again */
  alarm?: string;
  quarantined?: string[];
  /** requests from outside that wait while it is frozen */
  waiting?: number;
  breakpoints?: Breakpoint[];
  /** another cluster, where who drives shows something to who only watches */
  stage?: string;
  /** what pages expect of a scheduling cycle that is held: how many say which node */
  votes?: { span: number; counts: Record<string, number> } | null;
}

/** The first message of a feed. */
export interface Hello extends Header, Clock {
  seq?: number;
  users?: string[];
  namespaces?: Record<string, string>;
}

/**
 * What stands for all records up to `seq`: those that are still in force then. Each may say which
 * requests from outside it goes back to, and a write who made it.
 */
export interface Keyframe {
  seq: number;
  t: number;
  rev: number;
  counts: { requests: number; writes: number; beats: number; cycles: number };
  emptied: Record<string, string[]>;
  records: Standing[];
  /** the newest request from outside that is followed, from its opening on */
  command: Standing[];
}

type Standing = TraceRecord & { roots?: number[] };

/** A breakpoint as the server takes and gives it: a kind and the fields that a record must have. */
export type Breakpoint = { id: string; kind: string } & Record<string, any>;

export interface OwnerReference {
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    deletionTimestamp?: string;
    finalizers?: string[];
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: OwnerReference[];
  };
  spec?: Record<string, any>;
  status?: Record<string, any>;
  [field: string]: any;
}
