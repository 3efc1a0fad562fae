import type { InboxItem, RunItem } from '../../src/surfaces/http/contract.ts'
import type { TestRequest } from '../support/http-harness.ts'
import { sendRequest, waitUntil } from '../support/http-harness.ts'
import type { CliFixture, CliProcess } from './cli-fixture.ts'

export interface ServeProcess {
  child: CliProcess
  address: string
  token: string
  pid: number
  send(path: string, request?: TestRequest): ReturnType<typeof sendRequest>
  get<T>(path: string): Promise<T>
  post(path: string, body: unknown): ReturnType<typeof sendRequest>
}

export const serveEnvironment = (cli: CliFixture) => ({ env: { HOME: cli.folder } })

export async function startServe(cli: CliFixture, ...argv: string[]): Promise<ServeProcess> {
  const child = cli.startWith(serveEnvironment(cli), 'serve', '--port', '0', '--json', '--no-tools', ...argv)
  const [text] = await child.waitFor(/\{"address".*\}/)
  const { address, token, pid } = JSON.parse(text) as { address: string; token: string; pid: number }
  const port = Number(new URL(address).port)
  const headers = { authorization: `Bearer ${token}`, 'x-troupe-request': '1' }
  const send = (path: string, request: TestRequest = {}) => sendRequest({ port, path }, { headers, ...request })
  return {
    ...{ child, address, token, pid, send },
    get: async (path) => (await send(path)).json,
    post: (path, body) => send(path, { method: 'POST', body }),
  }
}

export const untilStatus = ({ get }: ServeProcess, run_id: string, status: string) =>
  waitUntil(async () => (await get<RunItem>(`/api/runs/${run_id}`)).status === status, status)

export async function firstQuestion({ get }: ServeProcess): Promise<InboxItem> {
  return waitUntil(async () => (await get<InboxItem[]>('/api/inbox'))[0], 'a question')
}
