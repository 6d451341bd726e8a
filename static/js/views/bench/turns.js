// @ts-check
/**
 * Lines that are sent while another runs wait for it, as in a terminal: they are sent in their
 * order, each once the one before it has ended. A line of etcdctl waits for no request, which may
 * wait with the cluster; nor does a line for another cluster.
 */

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('./commands.js').Answer} Answer */
/**
 * @typedef {Object} Waiting
 * @property {number} id
 * @property {string} text     as it was typed
 * @property {string} command  in one line
 * @property {Answer['sort']} sort
 * @property {string} user     who was chosen when it was sent
 * @property {string} cluster
 */

export class Turns {
  /**
   * @param {App} app
   * @param {(text: string, user: string) => Promise<Answer>} run
   * @param {(text: string) => void} refused  gives back what was not done
   */
  constructor(app, run, refused) {
    this._app = app;
    this._run = run;
    this._refused = refused;
    /** what was begun, though its answer may not be there yet @type {Set<Waiting>} */
    this._begun = new Set();
    this._count = 0;
  }

  /** Whether something of a sort runs in the cluster of this page. @param {Answer['sort']} sort */
  isBusy(sort) {
    const { home, ui } = this._app;
    return [...ui.answers.filter(({ began }) => began), ...this._begun].some(
      (one) => one.sort === sort && one.cluster === home.cluster,
    );
  }

  /** @param {Pick<Waiting, 'text'|'command'|'sort'>} line */
  take(line) {
    const { home, ui } = this._app;
    this._count += 1;
    const told = { id: this._count, user: ui.user, cluster: home.cluster };
    ui.waiting = [...ui.waiting, { ...line, ...told }];
    this.next();
  }

  /** A line that waits is not sent. @param {number} id */
  takeBack(id) {
    const { ui } = this._app;
    const line = ui.waiting.find((one) => one.id === id);
    ui.waiting = ui.waiting.filter((one) => one !== line);
    if (line) this._refused(line.text);
    this._app.draw();
  }

  /** Something ended, or this is another cluster: what waits no longer is sent. */
  next() {
    const { home, player, ui } = this._app;
    for (const line of ui.waiting) {
      const isHere = player.drives && line.cluster === home.cluster;
      if (isHere && !this.isBusy(line.sort)) this._begin(line);
    }
    this._app.draw();
  }

  /** @param {Waiting} line */
  async _begin(line) {
    const { ui } = this._app;
    ui.waiting = ui.waiting.filter((one) => one !== line);
    this._begun.add(line);
    try {
      const { lines } = await this._run(line.text, line.user);
      if (lines.some(({ failed }) => failed)) this._refused(line.text);
    } finally {
      this._begun.delete(line);
      this.next();
    }
  }
}
