/*
 * Consultations with a planted fact that answers the question, somewhere in a long history. Questions and facts are worded by different people: some share the
 * names, some only the meaning. Even entries are for tuning, odd ones are held out.
 */

type FactPlace = 'user' | 'agent' | 'file' | 'command' | 'error' | 'edit'

export interface PackageScenario {
  name: string
  reason: string
  question: string
  concern?: string
  task: string
  place: FactPlace
  /** Path of the file, or the command. */
  origin?: string
  fact: string
  /** The part of the fact without which the question cannot be answered. */
  answer: string
  /** Statements about the same subject that do not answer it. */
  distractors: readonly string[]
}

const scenario = (
  name: string,
  place: FactPlace,
  more: Omit<PackageScenario, 'name' | 'place' | 'distractors'> & { distractors?: readonly string[] },
): PackageScenario => ({ name, place, distractors: [], ...more })

export const packageScenarios: readonly PackageScenario[] = [
  scenario('user-fields', 'file', {
    reason: 'model_data',
    question: 'How is the User model structured? Which fields can I show in the profile page?',
    task: 'Build the user profile display',
    origin: 'models/user.py',
    fact: 'class User(Base):\n    id = Column(UUID, primary_key=True)\n    username = Column(String(40))\n    profile_image_url = Column(Text)\n    preferences = Column(JSONB)  # theme, notifications, language\n    last_login = Column(DateTime)',
    answer: 'profile_image_url = Column(Text)',
    distractors: ['The profile page needs a loading skeleton.', 'Users can change their avatar on mobile, too.'],
  }),
  scenario('conflict-status', 'file', {
    reason: 'api_clarification',
    question: 'What does POST /users return when the e-mail is already registered?',
    task: 'Handle errors of the sign-up form',
    origin: 'api/users/create.ts',
    fact: 'if (existing) {\n  return reply.code(409).send({ error: "user_exists", existing_id: existing.id })\n}',
    answer: 'reply.code(409)',
    distractors: ['GET /users returns a page of 50 users.', 'The sign-up form validates the address in the browser.'],
  }),
  scenario('pagination-start', 'user', {
    reason: 'requirements',
    question: 'Should pagination start at 0 or 1?',
    task: 'Paginate the order list',
    fact: 'By the way, our customers count pages from one, so the first page in the URL is ?page=1.',
    answer: 'the first page in the URL is ?page=1',
    distractors: ['A page of the order list shows 25 rows.', 'Pagination is done in the database, not in memory.'],
  }),
  scenario('session-race', 'command', {
    reason: 'bug_debugging',
    question: 'Login fails intermittently. What happens in the session creation when two requests arrive together?',
    task: 'Find out why the login test is flaky',
    origin: 'journalctl -u auth --since yesterday',
    fact: '02:11:09.113 worker 3 INSERT sessions user=88\n02:11:09.114 worker 5 INSERT sessions user=88\n02:11:09.121 worker 5 duplicate key value violates unique constraint "sessions_user_id_key"',
    answer: 'violates unique constraint "sessions_user_id_key"',
    distractors: ['The login page was redesigned in May.', 'Sessions are stored for 14 days.'],
  }),
  scenario('docker-volume', 'agent', {
    reason: 'infrastructure',
    question: 'How should I structure the Docker volumes so that uploads survive a deployment?',
    task: 'Move the service to the new cluster',
    fact: 'The nodes of the cluster are replaced every night, so anything in a bind mount is lost; only the NFS class named shared-rwx is kept.',
    answer: 'only the NFS class named shared-rwx is kept',
    distractors: ['The image is built in CI and has 180 MB.', 'Deployments happen on Tuesdays and Thursdays.'],
  }),
  scenario('token-signature', 'file', {
    reason: 'security_review',
    question: 'Is the validation of our access tokens secure?',
    concern: 'Could somebody forge one?',
    task: 'Review the authentication middleware',
    origin: 'src/auth/verify.js',
    fact: 'function verify(jwt) {\n  const [header, body] = jwt.split(".").map(decodeBase64)\n  // TODO check the signature once the key service is up\n  return JSON.parse(body)\n}',
    answer: 'TODO check the signature once the key service is up',
    distractors: ['Access to the admin area needs a second factor.', 'Tokens expire after 15 minutes.'],
  }),
  scenario('rounding', 'user', {
    reason: 'requirements',
    question: 'How do we round the VAT of an invoice: per line or on the total?',
    task: 'Implement invoice totals',
    fact: 'Accounting insists: tax is computed for each position and rounded half up there; the sum is only added.',
    answer: 'tax is computed for each position and rounded half up there',
    distractors: ['Invoices are numbered without gaps.', 'The total is printed in bold.'],
  }),
  scenario('slow-query', 'command', {
    reason: 'bug_debugging',
    question: 'Why is the dashboard slow since the last release?',
    task: 'Speed up the dashboard',
    origin: 'psql -c "explain analyze select * from events where tenant = 7"',
    fact: 'Seq Scan on events  (cost=0.00..984213.00 rows=41 width=612) (actual time=8123.441..9120.002 rows=38 loops=1)\n  Filter: (tenant = 7)',
    answer: 'Seq Scan on events',
    distractors: ['The dashboard has six charts.', 'The last release added dark mode.'],
  }),
  scenario('flag-default', 'file', {
    reason: 'model_data',
    question: 'What is the default of the notification setting for new accounts?',
    task: 'Write the onboarding e-mail',
    origin: 'config/defaults.yaml',
    fact: 'accounts:\n  notify:\n    email: weekly_digest\n    push: false\n  locale: en',
    answer: 'email: weekly_digest',
    distractors: ['New accounts get a welcome message.', 'Notifications can be muted for a day.'],
  }),
  scenario('retry-after', 'error', {
    reason: 'api_clarification',
    question: 'How long do we have to wait before calling the shipping API again?',
    task: 'Import tracking numbers',
    origin: 'node import-tracking.js',
    fact: 'Error: request failed with status 429\n    body: {"message":"quota of carrier exhausted","retry_after_s":900}\n    at callCarrier (import-tracking.js:44:11)',
    answer: '"retry_after_s":900',
    distractors: ['The shipping API has a sandbox.', 'Tracking numbers have 14 characters.'],
  }),
  scenario('tried-pool', 'edit', {
    reason: 'bug_debugging',
    question: 'We run out of database connections under load. Is a larger pool the solution?',
    task: 'Make the load test pass',
    origin: 'src/db/pool.ts',
    fact: '- const pool = new Pool({ max: 10 })\n+ const pool = new Pool({ max: 200, idleTimeoutMillis: 1000 })',
    answer: 'max: 200, idleTimeoutMillis: 1000',
    distractors: ['The load test sends 300 requests a second.', 'The database has 8 cores.'],
  }),
  scenario('certificate-owner', 'user', {
    reason: 'infrastructure',
    question: 'Who renews the TLS certificate of the public domain, and how?',
    task: 'Document the operations of the shop',
    fact: 'cert-manager does not cover shop.acme-store.io: the platform team uploads that one by hand each March, ticket queue PLAT.',
    answer: 'the platform team uploads that one by hand each March',
    distractors: ['The domain was bought in 2012.', 'TLS 1.0 is switched off everywhere.'],
  }),
  scenario('upload-check', 'file', {
    reason: 'security_review',
    question: 'Can a user upload a file that is later executed on the server?',
    task: 'Review the upload feature',
    origin: 'app/uploads/store.php',
    fact: "$target = PUBLIC_DIR . '/' . $_FILES['doc']['name'];\nmove_uploaded_file($_FILES['doc']['tmp_name'], $target); // served by Apache as is",
    answer: "PUBLIC_DIR . '/' . $_FILES['doc']['name']",
    distractors: ['Uploads are limited to 20 MB.', 'The server runs in Frankfurt.'],
  }),
  scenario('enum-values', 'file', {
    reason: 'model_data',
    question: 'Which states can an order be in?',
    task: 'Show a badge for each order',
    origin: 'db/migrations/014_orders.sql',
    fact: "CREATE TYPE order_state AS ENUM ('draft', 'placed', 'paid', 'packed', 'handed_over', 'returned');",
    answer: "'handed_over', 'returned'",
    distractors: ['Each order has at most 99 positions.', 'Badges are green or grey.'],
  }),
  scenario('webhook-order', 'agent', {
    reason: 'api_clarification',
    question: 'Can we rely on the order in which the payment provider sends its webhooks?',
    task: 'Process payment events',
    fact: 'I read their developer guide: deliveries are retried for three days and may overtake each other; compare the field sequence and drop older ones.',
    answer: 'compare the field sequence and drop older ones',
    distractors: ['The payment provider charges 1.4 %.', 'Webhooks are signed with HMAC.'],
  }),
  scenario('null-address', 'error', {
    reason: 'bug_debugging',
    question: 'The nightly export crashes for some customers. What do they have in common?',
    task: 'Repair the nightly export',
    origin: 'python export.py --date 2026-11-01',
    fact: "Traceback (most recent call last):\n  File \"export.py\", line 212, in row\n    street = customer.billing.street\nAttributeError: 'NoneType' object has no attribute 'street' (customer 40917, created by import)",
    answer: '(customer 40917, created by import)',
    distractors: ['The export is a CSV file of 40 MB.', 'It runs at 3 a.m.'],
  }),
  scenario('accessibility', 'user', {
    reason: 'requirements',
    question: 'Which level of accessibility do we have to reach?',
    task: 'Choose a component library',
    fact: 'Legal says the tender demands WCAG 2.2 AA, with a report by an outside auditor before launch.',
    answer: 'WCAG 2.2 AA',
    distractors: ['The component library should be small.', 'The launch is planned for spring.'],
  }),
  scenario('memory-limit', 'command', {
    reason: 'infrastructure',
    question: 'Why does the worker restart every few hours?',
    task: 'Stabilise the worker',
    origin: 'kubectl describe pod worker-7d9',
    fact: 'Last State:     Terminated\n  Reason:       OOMKilled\n  Exit Code:    137\nLimits:\n  memory:  512Mi',
    answer: 'OOMKilled',
    distractors: ['The worker handles images.', 'It is written in Go.'],
  }),
  scenario('password-hash', 'file', {
    reason: 'security_review',
    question: 'Are stored credentials protected well enough if the database leaks?',
    task: 'Prepare the security audit',
    origin: 'lib/accounts/hash.rb',
    fact: "def digest(plain)\n  Digest::SHA1.hexdigest('pepper' + plain)\nend",
    answer: 'Digest::SHA1.hexdigest',
    distractors: ['The audit takes place in March.', 'The database is backed up hourly.'],
  }),
  scenario('timezone', 'agent', {
    reason: 'model_data',
    question: 'In which time zone are the timestamps of bookings stored?',
    task: 'Show bookings in a calendar',
    fact: 'Found it in the importer: booking times come in as local wall-clock time of the hotel, without an offset, and are kept like that.',
    answer: 'local wall-clock time of the hotel, without an offset',
    distractors: ['A booking has a start and an end.', 'The calendar begins on Monday.'],
  }),
  scenario('idempotency', 'file', {
    reason: 'api_clarification',
    question: 'Is it safe to send the same charge twice after a timeout?',
    task: 'Retry failed charges',
    origin: 'docs/payments.md',
    fact: 'Charges with the same `Idempotency-Key` header within 24 hours return the first result. Without the header every call creates a new charge.',
    answer: 'Without the header every call creates a new charge',
    distractors: ['Charges are in euros only.', 'A timeout of 10 seconds is usual.'],
  }),
  scenario('cache-stampede', 'agent', {
    reason: 'bug_debugging',
    question: 'Every hour the site is unreachable for a minute. What is the cause?',
    task: 'Investigate the outages',
    fact: 'All cached pages get the same lifetime of 3600 s at start-up, so they expire at once and forty processes rebuild them in parallel.',
    answer: 'they expire at once and forty processes rebuild them in parallel',
    distractors: ['The site has 2,000 pages.', 'The outage lasts 50 to 70 seconds.'],
  }),
  scenario('deletion', 'user', {
    reason: 'requirements',
    question: 'What do we do with the data of people who close their account?',
    task: 'Build the account settings',
    fact: 'For GDPR the rule is: anonymise orders right away, erase everything else after 30 days, keep nothing for marketing.',
    answer: 'erase everything else after 30 days',
    distractors: ['Accounts can be paused.', 'The settings page has four tabs.'],
  }),
  scenario('secrets-place', 'command', {
    reason: 'infrastructure',
    question: 'Where do the pods get their credentials for the queue from?',
    task: 'Set up the staging environment',
    origin: 'helm get values queue-consumer',
    fact: 'envFrom:\n- secretRef:\n    name: queue-consumer-vault\nserviceAccount: queue-reader\nvault:\n  path: kv/data/queue/prod',
    answer: 'kv/data/queue/prod',
    distractors: ['Staging has two nodes.', 'The queue keeps messages for 4 days.'],
  }),
  scenario('csv-separator', 'command', {
    reason: 'api_clarification',
    question: 'Which delimiter and encoding does the partner expect in the product feed?',
    task: 'Generate the product feed',
    origin: 'head -c 200 partner-sample.csv | xxd',
    fact: '00000000: fffe 7300 6b00 7500 3b00 7000 7200 6900  ..s.k.u.;.p.r.i.\n# UTF-16 little endian, semicolons',
    answer: '# UTF-16 little endian, semicolons',
    distractors: ['The partner fetches the feed at noon.', 'The feed has 12,000 products.'],
  }),
  scenario('sql-injection', 'file', {
    reason: 'security_review',
    question: 'Is the search endpoint vulnerable to injection?',
    task: 'Harden the public API',
    origin: 'internal/search/handler.go',
    fact: 'q := r.URL.Query().Get("q")\nrows, err := db.Query("SELECT id, title FROM items WHERE title LIKE \'%" + q + "%\'")',
    answer: `LIKE '%" + q + "%'"`,
    distractors: ['Search is the most used endpoint.', 'Results are sorted by date.'],
  }),
  scenario('test-order', 'error', {
    reason: 'bug_debugging',
    question: 'The suite is green alone but red in CI. Which test leaves something behind?',
    task: 'Make CI reliable',
    origin: 'pytest -p no:randomly',
    fact: "FAILED tests/test_rates.py::test_default - assert Decimal('0.07') == Decimal('0.19')\nnote: settings.VAT patched by tests/test_switzerland.py::setup_module was never restored",
    answer: 'tests/test_switzerland.py::setup_module was never restored',
    distractors: ['CI takes 14 minutes.', 'There are 1,900 tests.'],
  }),
  scenario('offline', 'user', {
    reason: 'requirements',
    question: 'Does the app have to work without a connection?',
    task: 'Design the synchronisation of the app',
    fact: 'The drivers are in tunnels and basements half of the day; they must be able to scan parcels there and upload later.',
    answer: 'they must be able to scan parcels there and upload later',
    distractors: ['The app is for Android only.', 'Drivers use gloves.'],
  }),
]
