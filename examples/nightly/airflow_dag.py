"""Replans every night how the views of a workload are kept, and checks them afterwards.

The workload's path is the Airflow variable `advisor_workload`. Exit code 10 says that something changed, which is no
failure; every other one is tried again twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

WORKLOAD = "{{ var.value.advisor_workload }}"

with DAG(
    dag_id="advisor_replan",
    description="Replan how views are kept, by what was observed and measured",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["advisor"],
) as dag:
    replan = BashOperator(
        task_id="replan",
        bash_command=(
            f"advisor replan '{WORKLOAD}' --apply --max-changes 3 --min-saving 1m --detailed-exitcode;"
            " code=$?; [ $code -eq 10 ] && exit 0; exit $code"
        ),
    )
    status = BashOperator(task_id="status", bash_command=f"advisor status '{WORKLOAD}'")
    verify = BashOperator(task_id="verify", bash_command=f"advisor verify '{WORKLOAD}'")
    replan >> status >> verify
