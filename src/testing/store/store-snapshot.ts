import type { Store } from '../../store/store.ts'

/** Everything that can be read from a store about the projects of the scenes. */
export async function storeSnapshot(store: Store): Promise<unknown> {
  const projects = ['default', 'other']
  const runs = (await Promise.all(projects.map((project) => store.runs({ project })))).flat()
  return {
    runs,
    sessions: await Promise.all(projects.map((project) => store.sessions({ project }))),
    inbox: await store.openGates({}),
    journals: await Promise.all(
      runs.map(async ({ run_id }) => ({
        events: await store.events(run_id),
        commands: await store.commands(run_id, 0),
        artifacts: await store.artifacts(run_id),
      })),
    ),
  }
}
