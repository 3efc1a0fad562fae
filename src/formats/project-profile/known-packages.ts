/* Packages that say what a project is made of, by the name that people use. */

export type PackageRole = 'web' | 'server' | 'mobile' | 'desktop' | 'data' | 'tool' | 'other'

export interface KnownPackage {
  label: string
  role: PackageRole
}

const ENTRIES: Readonly<Record<PackageRole, string>> = {
  web: 'react=React next=Next.js vue=Vue nuxt=Nuxt svelte=Svelte @sveltejs/kit=SvelteKit @angular/core=Angular solid-js=Solid preact=Preact astro=Astro @remix-run/react=Remix gatsby=Gatsby htmx.org=htmx jquery=jQuery lit=Lit livewire/livewire=Livewire streamlit=Streamlit dash=Dash leptos=Leptos yew=Yew',
  server:
    'express=Express fastify=Fastify koa=Koa hono=Hono @nestjs/core=NestJS @hapi/hapi=hapi graphql=GraphQL @apollo/server=Apollo @trpc/server=tRPC django=Django flask=Flask fastapi=FastAPI starlette=Starlette tornado=Tornado aiohttp=aiohttp sanic=Sanic djangorestframework=Django-REST rails=Rails sinatra=Sinatra laravel/framework=Laravel symfony/framework-bundle=Symfony slim/slim=Slim spring-boot-starter-web=Spring-Boot spring-boot=Spring-Boot quarkus-core=Quarkus micronaut-core=Micronaut github.com/gin-gonic/gin=Gin github.com/labstack/echo=Echo github.com/gofiber/fiber=Fiber github.com/go-chi/chi=chi google.golang.org/grpc=gRPC @grpc/grpc-js=gRPC grpcio=gRPC actix-web=Actix-Web axum=Axum rocket=Rocket warp=Warp',
  mobile: 'react-native=React-Native expo=Expo @ionic/core=Ionic @capacitor/core=Capacitor flutter=Flutter',
  desktop: 'electron=Electron @tauri-apps/api=Tauri tauri=Tauri PyQt6=Qt pyside6=Qt',
  data: 'numpy=NumPy pandas=pandas scikit-learn=scikit-learn torch=PyTorch tensorflow=TensorFlow keras=Keras jax=JAX transformers=Transformers langchain=LangChain polars=Polars pyspark=Spark apache-airflow=Airflow dbt-core=dbt',
  tool: 'commander=Commander yargs=yargs oclif=oclif click=Click typer=Typer clap=clap github.com/spf13/cobra=Cobra',
  other:
    'typescript=TypeScript vite=Vite webpack=webpack esbuild=esbuild rollup=Rollup turbo=Turborepo nx=Nx tailwindcss=Tailwind-CSS redux=Redux zustand=Zustand @tanstack/react-query=TanStack-Query zod=Zod ai=Vercel-AI-SDK openai=OpenAI-SDK @anthropic-ai/sdk=Anthropic-SDK prisma=Prisma @prisma/client=Prisma drizzle-orm=Drizzle typeorm=TypeORM sequelize=Sequelize mongoose=MongoDB mongodb=MongoDB pg=PostgreSQL postgres=PostgreSQL psycopg2=PostgreSQL psycopg2-binary=PostgreSQL psycopg=PostgreSQL asyncpg=PostgreSQL github.com/lib/pq=PostgreSQL github.com/jackc/pgx=PostgreSQL mysql2=MySQL mysqlclient=MySQL pymysql=MySQL better-sqlite3=SQLite sqlite3=SQLite redis=Redis ioredis=Redis celery=Celery bullmq=BullMQ kafkajs=Kafka confluent-kafka=Kafka amqplib=RabbitMQ pika=RabbitMQ @elastic/elasticsearch=Elasticsearch elasticsearch=Elasticsearch sqlalchemy=SQLAlchemy alembic=Alembic pydantic=Pydantic sqlx=SQLx diesel=Diesel tokio=Tokio serde=Serde gorm.io/gorm=GORM vitest=Vitest jest=Jest mocha=Mocha @playwright/test=Playwright cypress=Cypress pytest=pytest rspec=RSpec phpunit/phpunit=PHPUnit junit-jupiter=JUnit junit=JUnit hibernate-core=Hibernate stripe=Stripe next-auth=Auth.js passport=Passport jsonwebtoken=JWT boto3=AWS @aws-sdk/client-s3=AWS firebase=Firebase @supabase/supabase-js=Supabase',
}

export const KNOWN_PACKAGES: ReadonlyMap<string, KnownPackage> = new Map(
  Object.entries(ENTRIES).flatMap(([role, entries]) =>
    entries.split(' ').map((entry): [string, KnownPackage] => {
      const [name = '', label = ''] = entry.split('=')
      return [
        name.toLowerCase(),
        { label: label.replaceAll('-', ' ').replace('scikit learn', 'scikit-learn'), role: role as PackageRole },
      ]
    }),
  ),
)

/** Services of a compose file, by words in the names of their images. */
export const KNOWN_IMAGES: readonly (readonly [word: RegExp, label: string])[] = [
  [/postgres|postgis|timescale/, 'PostgreSQL'],
  [/mysql|mariadb/, 'MySQL'],
  [/mongo/, 'MongoDB'],
  [/redis|valkey/, 'Redis'],
  [/kafka|redpanda/, 'Kafka'],
  [/rabbitmq/, 'RabbitMQ'],
  [/elasticsearch|opensearch/, 'Elasticsearch'],
  [/nginx/, 'nginx'],
  [/traefik/, 'Traefik'],
  [/minio/, 'MinIO'],
  [/qdrant/, 'Qdrant'],
  [/clickhouse/, 'ClickHouse'],
  [/grafana/, 'Grafana'],
  [/prom\/prometheus/, 'Prometheus'],
]
