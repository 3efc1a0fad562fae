import type { Dialect } from './agent-dialect.ts'

/** The names by which agents know our tools. */
export const BUILT_IN_TOOLS: readonly string[] = [
  ...['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LSP'],
  ...['TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList'],
  ...['WebFetch', 'WebSearch', 'EnterPlanMode', 'ExitPlanMode'],
  ...['task', 'task_result', 'ask_user', 'ArtifactWrite', 'ArtifactRead'],
]

const TASK_TOOLS = ['TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList']

/**
 * What others call the same thing, without case, blanks, hyphens and underscores. A name stands for no more than it does
 * where it comes from: what runs only tests, or changes only notebooks, has no counterpart here.
 */
const ALIASES: readonly (readonly [ours: readonly string[], theirs: string])[] = [
  [['Read'], 'readfile fileread view open notebookread readmanyfiles read/readfile read/getnotebooksummary'],
  [['Write'], 'writefile filewrite createfile writetofile edit/createfile'],
  [['Edit'], 'multiedit editfile replace strreplace searchreplace'],
  [['Edit', 'Write'], 'editfiles edit/editfiles inserteditintofile strreplaceeditor applypatch'],
  [['Glob'], 'ls list listdir listdirectory listfiles findfiles filesearch search/filesearch search/listdirectory'],
  [['Grep'], 'grepsearch textsearch searchfiles ripgrep rg search/textsearch search/searchresults searchresults'],
  [['Grep', 'Glob'], 'search codebase search/codebase codesearch'],
  [['Bash'], 'shell execute terminal runcommand runcommands executecommand runshellcommand runterminalcommand'],
  [['Bash'], 'runinterminal execute/runinterminal runcommands/runinterminal'],
  [['LSP'], 'problems read/problems usages search/usages getdiagnostics getproblems listcodeusages'],
  [['WebFetch'], 'fetch fetchurl fetchwebpage web/fetch'],
  [['WebSearch'], 'websearchtool googlewebsearch googlesearch searchweb'],
  [['WebFetch', 'WebSearch'], 'web'],
  [['task'], 'agent subagent customagent runsubagent agent/runsubagent delegate spawnagent'],
  [['task_result'], 'taskoutput agentoutput agentoutputtool'],
  [['ask_user'], 'askuserquestion askquestions vscode/askquestions askfollowupquestion'],
  [TASK_TOOLS, 'todo todos todowrite managetodolist updatetodolist'],
  [['TaskList', 'TaskGet'], 'todoread'],
  // Amplifier: a module brings several tools.
  [['Read', 'Write', 'Edit', 'Glob'], 'toolfilesystem'],
  [['Grep', 'Glob'], 'toolsearch'],
  [['Grep'], 'toolgrep'],
  [['Glob'], 'toolglob'],
  [['Bash'], 'toolbash toolshell'],
  [['WebFetch', 'WebSearch'], 'toolweb'],
  [['task'], 'tooltask tooldelegate'],
  [TASK_TOOLS, 'tooltodo'],
  [['LSP'], 'toollsp'],
  // CrewAI: the classes of its tool box.
  [['Read'], 'filereadtool'],
  [['Write'], 'filewritertool filewritetool'],
  [['Glob'], 'directoryreadtool'],
  [['Grep', 'Glob'], 'directorysearchtool'],
  [['Read', 'Grep'], 'txtsearchtool mdxsearchtool jsonsearchtool csvsearchtool xmlsearchtool'],
  [['WebSearch'], 'serperdevtool bravesearchtool exasearchtool tavilysearchtool serpapigooglesearchtool'],
  [['WebSearch'], 'websitesearchtool linkupsearchtool firecrawlsearchtool duckduckgosearchtool serplywebsearchtool'],
  [['WebFetch'], 'scrapewebsitetool firecrawlscrapewebsitetool seleniumscrapingtool jinascrapewebsitetool'],
  [['WebFetch'], 'scrapeelementfromwebsitetool tavilyextractortool extractcontent'],
]

const TOOLS_BY_ALIAS = new Map(
  ALIASES.flatMap(([ours, theirs]) => theirs.split(' ').map((name) => [name, ours] as const)),
)

/** Sets of tools that an editor has itself; `name/…` with any other name is a tool of an MCP server. */
const EDITOR_SET_NAMES = 'agent browser edit execute new read runcommands runnotebooks runtasks search todo vscode web'
const EDITOR_TOOL_SETS = new Set(EDITOR_SET_NAMES.split(' '))

/**
 * What a tool of a file is called here: none, one or several; `undefined` when nobody knows the name. Tools of MCP servers
 * keep theirs.
 */
export function resolveToolNames(
  name: string,
  { dialect, known }: { dialect: Dialect; known: readonly string[] },
): readonly string[] | undefined {
  if (known.includes(name) || BUILT_IN_TOOLS.includes(name)) return [name]
  if (/^mcp__[\w.*-]+$/.test(name)) return [name]
  const plain = normalizeToolName(name)
  if (dialect === 'copilot' && plain === 'edit') return ['Edit', 'Write']
  const ours = [...BUILT_IN_TOOLS, ...known].find((each) => normalizeToolName(each) === plain)
  if (ours !== undefined) return [ours]
  const alias = TOOLS_BY_ALIAS.get(plain)
  if (alias) return alias
  const [set = '', ...rest] = name.split('/')
  const ofServer = rest.length > 0 && rest.every((part) => part !== '') && /^[\w@]/.test(set)
  return ofServer && !EDITOR_TOOL_SETS.has(normalizeToolName(set)) ? [name] : undefined
}

function normalizeToolName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '')
}
