// @ts-check
/** What is done to the API server and its etcd, and what is asked of them about one request. */

/** @typedef {import('../page/app.js').App} App */

/** @param {App} app */
export function serverActions(app) {
  const { ui } = app;
  const set = (/** @type {any} */ change) => {
    Object.assign(ui, change);
    app.draw();
  };
  return {
    /**
     * Have etcd refuse the next write like this, or none any more.
     * @param {{resource: string, op: string}|null} about
     */
    fault(about) {
      const { resource = '', op = '' } = about || {};
      app.control({ action: 'fault', ...(about ? { resource, op } : {}), times: about ? 1 : 0 });
      set({ fault: about && { resource, op, seq: app.history.last } });
    },
    /** Stop the API server, or start it again. @param {'start'|'stop'} what */
    server(what) {
      set({ dialog: '', menu: '' });
      app.control({ action: 'apiserver', do: what });
    },
    /** Stop etcd, or start it again. @param {'start'|'stop'} what */
    etcd(what) {
      set({ dialog: '', menu: '' });
      app.control({ action: 'etcd', do: what });
    },
    /** @param {number} seq  of a request: show what it carried, in each of its forms */
    forms(seq) {
      set({ forms: { seq, data: null, error: '' } });
      const put = (/** @type {any} */ more) => {
        if (ui.forms?.seq === seq) set({ forms: { seq, data: null, error: '', ...more } });
      };
      return app.api.forms(seq).then(
        (data) => put({ data }),
        (error) => put({ error: error.message }),
      );
    },
  };
}
