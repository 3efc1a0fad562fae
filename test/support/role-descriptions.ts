/**
 * Open roles of teams and the agents that fit them, for bench/roles.ts: agents of test/fixtures/agents and the built-in ones. Written before any
 * matching was measured (`troupe:architect` for one role was added afterwards); do not adjust them to a result.
 */
export interface RoleDescription {
  name: string
  role: string
  expertise?: string[]
  /** The agents that a person would accept. */
  fits: string[]
}

export const ROLE_DESCRIPTIONS: RoleDescription[] = [
  {
    name: 'upgrader',
    role: 'brings a ten-year-old codebase up to date',
    fits: ['framework-migration-legacy-modernizer'],
  },
  {
    name: 'teacher',
    role: 'writes a beginner guide that explains our library',
    fits: ['documentation-generation-tutorial-engineer'],
  },
  {
    name: 'backend',
    role: 'builds the Python web backend with models and views',
    fits: ['python-development-django-pro'],
  },
  {
    name: 'critic',
    role: 'looks for bugs in a pull request',
    fits: ['codebase-cleanup-code-reviewer', 'reviewer', 'code-review-preshipment'],
  },
  { name: 'detective', role: 'finds out why the service crashes', fits: ['team-debugger'] },
  { name: 'coordinator', role: 'splits the work among several people and merges it', fits: ['team-lead'] },
  { name: 'gatekeeper', role: 'last look at everything before we release', fits: ['code-review-preshipment'] },
  { name: 'firmware', role: 'programs the chip of our sensor board', fits: ['arm-cortex-expert'] },
  {
    name: 'builder',
    role: 'implements one part of the feature while others do theirs',
    fits: ['team-implementer', 'implementer'],
  },
  {
    name: 'visual_checker',
    role: 'compares pictures of the pages with the design',
    fits: ['ui-visual-validator'],
  },
  { name: 'collector', role: 'finds datasets and cleans them', fits: ['data-researcher'] },
  { name: 'statistician', role: 'says whether variant B of the experiment really won', fits: ['ab-test-analysis'] },
  { name: 'retention', role: 'explains when customers stop coming back', fits: ['cohort-analysis'] },
  { name: 'windows_developer', role: 'maintains an old C# program', fits: ['dotnet-framework-4.8-expert'] },
  { name: 'administrator', role: 'scripts user accounts in Active Directory', fits: ['powershell-5.1-expert'] },
  {
    name: 'infrastructure',
    role: 'keeps Terraform of all environments free of repetition',
    fits: ['terragrunt-expert'],
  },
  {
    name: 'planner',
    role: 'chooses which agents should do which piece of the job',
    fits: ['agent-organizer', 'team-lead'],
  },
  {
    name: 'fact_checker',
    role: 'verifies the claims of a generated text against sources',
    fits: ['Doublecheck'],
  },
  {
    name: 'outage_watch',
    role: 'tells whether the fault is ours or the provider of the cloud is down',
    fits: ['Cloud and SaaS Outage Triage'],
  },
  { name: 'observer', role: 'reads New Relic to explain a slow endpoint', fits: ['New Relic Incident Response Agent'] },
  { name: 'on_call', role: 'investigates alarms in AWS at night', fits: ['AWS Incident Triage'] },
  { name: 'migrator', role: 'moves class components to React 18', fits: ['react18-commander'] },
  { name: 'frontend_lead', role: 'leads the upgrade to React 19', fits: ['react19-commander'] },
  { name: 'app_developer', role: 'writes the iPhone and Android app', fits: ['gem-implementer-mobile'] },
  { name: 'scout', role: 'maps where things are in an unknown repository', fits: ['explorer'] },
  { name: 'editor', role: 'changes a few lines in known files', fits: ['file-ops'] },
  { name: 'committer', role: 'commits the result and opens a pull request', fits: ['git-ops'] },
  { name: 'runner', role: 'runs the build and the tests in a terminal', fits: ['shell-exec'] },
  { name: 'amplifier_advisor', role: 'answers questions on Amplifier', fits: ['amplifier-expert', 'ecosystem-expert'] },
  { name: 'release_train', role: 'aligns changes over many Amplifier repositories', fits: ['ecosystem-expert'] },
  {
    name: 'designer',
    role: 'decides the structure of the system before anyone codes',
    fits: ['architect', 'troupe:architect'],
  },
  {
    name: 'programmer',
    role: 'writes the code',
    fits: ['implementer', 'team-implementer'],
  },
  { name: 'librarian', role: 'looks things up on the internet', fits: ['researcher', 'data-researcher'] },
  {
    name: 'quality',
    role: 'judges whether the code is safe and readable',
    fits: ['reviewer', 'codebase-cleanup-code-reviewer', 'code-review-preshipment'],
  },
  { name: 'generalist', role: 'helps with whatever comes up', fits: ['default'] },
  {
    name: 'hypothesis_tester',
    role: 'takes one suspected cause and proves or refutes it',
    fits: ['team-debugger'],
  },
  {
    name: 'driver_author',
    role: 'writes low-level drivers',
    expertise: ['interrupts', 'DMA'],
    fits: ['arm-cortex-expert'],
  },
  { name: 'api', role: 'adds endpoints', expertise: ['ORM', 'Celery'], fits: ['python-development-django-pro'] },
  {
    name: 'debt_collector',
    role: 'replaces outdated libraries step by step without breaking callers',
    fits: ['framework-migration-legacy-modernizer'],
  },
  {
    name: 'onboarding',
    role: 'prepares exercises for new colleagues',
    fits: ['documentation-generation-tutorial-engineer'],
  },
  { name: 'experimenter', role: 'evaluates our split test and recommends whether to ship', fits: ['ab-test-analysis'] },
  { name: 'growth', role: 'compares how groups of users behave month after month', fits: ['cohort-analysis'] },
  { name: 'project_auditor', role: 'checks that the Conductor files are complete', fits: ['conductor-validator'] },
  { name: 'screenshots', role: 'proves that the layout did not shift', fits: ['ui-visual-validator'] },
  { name: 'domain_controller', role: 'manages DNS and DHCP on Windows servers', fits: ['powershell-5.1-expert'] },
  { name: 'tracer', role: 'follows how a value flows through the code', fits: ['explorer'] },
  { name: 'historian', role: 'resolves merge conflicts and rebases branches', fits: ['git-ops'] },
  { name: 'packager', role: 'installs packages and compiles', fits: ['shell-exec'] },
]

/** Written before any of them was matched, by somebody who had read the descriptions of the agents; do not adjust them to a result either. */
export const HELD_OUT_ROLES: RoleDescription[] = [
  {
    name: 'upgrader',
    role: 'moves an old application to a supported framework in small steps',
    fits: ['framework-migration-legacy-modernizer', 'dotnet-framework-4.8-expert'],
  },
  {
    name: 'author',
    role: 'turns a module into a lesson with exercises',
    fits: ['documentation-generation-tutorial-engineer'],
  },
  { name: 'django_dev', role: 'speeds up slow queries of our Django models', fits: ['python-development-django-pro'] },
  {
    name: 'release_judge',
    role: 'says ship or do not ship for the changes since the last deployment',
    fits: ['code-review-preshipment'],
  },
  { name: 'embedded', role: 'writes firmware for an STM32 microcontroller', fits: ['arm-cortex-expert'] },
  { name: 'screenshot_checker', role: 'finds visual regressions in the user interface', fits: ['ui-visual-validator'] },
  {
    name: 'data_gatherer',
    role: 'locates sources of data, downloads them and checks their quality',
    fits: ['data-researcher'],
  },
  { name: 'analyst', role: 'computes p-values and confidence intervals of an experiment', fits: ['ab-test-analysis'] },
  { name: 'churn_analyst', role: 'draws retention curves by month of sign-up', fits: ['cohort-analysis'] },
  {
    name: 'enterprise_dev',
    role: 'fixes bugs in a WCF and WebForms application',
    fits: ['dotnet-framework-4.8-expert'],
  },
  { name: 'windows_admin', role: 'automates group policies and user accounts', fits: ['powershell-5.1-expert'] },
  { name: 'platform', role: 'structures infrastructure as code for several environments', fits: ['terragrunt-expert'] },
  {
    name: 'dispatcher',
    role: 'decides which specialist works on what and writes the plan of the team',
    fits: ['agent-organizer', 'team-lead'],
  },
  { name: 'verifier', role: 'checks statements of a language model against sources', fits: ['Doublecheck'] },
  {
    name: 'status_page_reader',
    role: 'finds out whether GitHub or Azure has an incident right now',
    fits: ['Cloud and SaaS Outage Triage'],
  },
  {
    name: 'performance_detective',
    role: 'correlates traces and deployments in our observability tool',
    fits: ['New Relic Incident Response Agent'],
  },
  { name: 'sre', role: 'goes from a CloudWatch alarm to a root cause', fits: ['AWS Incident Triage'] },
  { name: 'react_lead', role: 'coordinates moving from React 17 to 18.3', fits: ['react18-commander'] },
  { name: 'react_next', role: 'takes our front end to React 19', fits: ['react19-commander'] },
  { name: 'mobile', role: 'implements the screen in Flutter', fits: ['gem-implementer-mobile'] },
  { name: 'surveyor', role: 'reads many files and reports how the code is organised', fits: ['explorer'] },
  { name: 'file_worker', role: 'reads, searches and edits single files', fits: ['file-ops'] },
  { name: 'git', role: 'creates branches and commits and answers issues on GitHub', fits: ['git-ops'] },
  { name: 'terminal', role: 'executes shell commands such as make and npm', fits: ['shell-exec'] },
  {
    name: 'bundle_advisor',
    role: 'knows modules and bundles of Amplifier',
    fits: ['amplifier-expert', 'ecosystem-expert'],
  },
  { name: 'system_designer', role: 'compares designs and chooses one', fits: ['architect', 'troupe:architect'] },
  { name: 'coder', role: 'changes code until the tests pass', fits: ['implementer', 'team-implementer'] },
  { name: 'searcher', role: 'answers a question from web pages', fits: ['researcher'] },
  {
    name: 'second_pair_of_eyes',
    role: 'reads a change and names defects',
    fits: ['reviewer', 'codebase-cleanup-code-reviewer', 'code-review-preshipment'],
  },
  { name: 'helper', role: 'general assistance', fits: ['default'] },
  { name: 'root_cause', role: 'gathers evidence for or against one hypothesis about a bug', fits: ['team-debugger'] },
  {
    name: 'foreman',
    role: 'divides a feature into parallel tasks with separate files',
    fits: ['team-lead', 'agent-organizer'],
  },
  { name: 'parallel_builder', role: 'builds one component within its own files', fits: ['team-implementer'] },
  { name: 'auditor', role: 'validates the artifacts of a Conductor project', fits: ['conductor-validator'] },
  { name: 'multi_repo', role: 'coordinates a change that spans core, modules and bundles', fits: ['ecosystem-expert'] },
  {
    name: 'static_analyst',
    role: 'runs security scanners over the whole code base and judges its quality',
    fits: ['codebase-cleanup-code-reviewer'],
  },
]
